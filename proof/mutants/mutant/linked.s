// There is no assembly here: functions without a body need such a file.
