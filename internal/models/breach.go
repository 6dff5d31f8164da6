package main

// A breach leaves one rule of the protocol out. The models together have to notice each of them.
type breach int8

const (
	nothing breach = iota

	noGuard      // no request looks for a guard, nor sets one
	forGood      // the home line of another hold is closed for good instead of below a number
	lowers       // a guard that is set later takes the place of a greater one
	noHome       // after ReleaseKeys has freed the home key its line is not among KEYS
	ownLineOnly  // a request closes its own home line only
	staysPut     // the number does not go up
	settlesAll   // an answered request closes more open requests than it should
	unstamped    // a renewal is not stamped, whatever it is sent behind
	plainRenewal // a renewal shortens, as a Refresh does
	shortens     // an Obtain shortens the lease that its token holds
	noSpare      // a clean-up spares nothing

	settlesOvertaken // an overtaken request counts as one that has closed
	freesUncounted   // an Obtain does not close a Release that is under way
	changesUncounted // nor a Refresh, a Downgrade or an Upgrade
	heedsOvertaken   // only a try after an overtaken one leaves alone what later Obtains count on
	releasesAgain    // a Release that is sent again spares nothing
	refreshesAgain   // a Refresh that is sent again shortens
	upgradesAgain    // and so does an Upgrade
	downgradesAgain  // a Downgrade is sent again

	sparesForGood // what a Release has spared is not cleaned up when nobody counts on it any more

	capped      // the last number is used for ever
	keepsFormer // with a fresh id, nothing is closed under the id before

	endsEarly    // a guard does not outlive the requests that it is against
	cutsShort    // the PEXPIRE of a line ends a guard too soon
	dropsLiving  // a guard is dropped as if it were the entry of a dead waiter
	forgetsSoon  // an owner begins anew while requests of it are open
	endsCleaning // a clean-up that nobody answers ends with the lease, before the last late request
	tooLate      // a request is later than the life of a guard: the limit that is documented

	readsUncounted // an Obtain does not close one with read keys that is under way
	readsAgain     // an Obtain that is sent again makes read keys of what a later one has as write keys

	unaskedEntry   // the short cut into a line does not look for a guard
	unaskedRelease // nor does the short cut that hands over a single key
	leavesFirst    // a waiter that gives up leaves the line of its first key only

	trustsFrees   // a hold counts on a key that a Release in another process has freed
	trustsChanges // or on a lease or mode that another process has changed
	trustsLate    // or on nothing late of another process being executed

	anyServer // a request counts as closed whatever server that was closed on

	unaskedLeave  // a Release that leaves keys does not look for a guard
	unclosedLeave // nor set one
	takesBack     // the token takes back what it has left

	settlesErrors // an error counts as an answer
	leavesErrors  // nothing is cleaned up after an Obtain that has failed
	breaches
)

var breachNames = [breaches]string{
	nothing: "nothing",
	noGuard: "noguard", forGood: "inf", lowers: "lowers", noHome: "nohome", ownLineOnly: "ownline",
	staysPut: "stays", settlesAll: "settlesall", unstamped: "unstamped", plainRenewal: "plainrenewal",
	shortens: "shortens", noSpare: "nospare",
	settlesOvertaken: "hollow", freesUncounted: "relfly", changesUncounted: "changefly",
	heedsOvertaken: "onlyovertaken", releasesAgain: "releaseagain", refreshesAgain: "refreshagain",
	upgradesAgain: "upgradeagain", downgradesAgain: "downgradeagain",
	sparesForGood: "sparesforgood",
	capped:        "cap", keepsFormer: "former",
	endsEarly: "early", cutsShort: "pexpire", dropsLiving: "drops", forgetsSoon: "forgets", endsCleaning: "endscleaning", tooLate: "late",
	readsUncounted: "readfly", readsAgain: "readagain",
	unaskedEntry: "unaskedentry", unaskedRelease: "unaskedrelease", leavesFirst: "leavesfirst",
	trustsFrees: "trustsfrees", trustsChanges: "trustschanges", trustsLate: "trustslate",
	anyServer:    "anyserver",
	unaskedLeave: "unaskedleave", unclosedLeave: "unclosedleave", takesBack: "takesback",
	settlesErrors: "erroranswers", leavesErrors: "leaveserrors",
}

func (b breach) String() string { return breachNames[b] }
