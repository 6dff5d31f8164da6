package late

import "github.com/seed-14de3678/redislock/proof/models/explore"

// A breach leaves one rule of the protocol out. The models together have to notice each of them.
type breach int8

const (
	nothing breach = iota

	noGuard
	forGood
	lowers
	ownLineOnly
	staysPut
	settlesAll
	unstamped
	plainRenewal
	shortens
	noSpare

	settlesOvertaken
	freesUncounted
	changesUncounted
	heedsOvertaken
	releasesAgain
	refreshesAgain
	upgradesAgain
	downgradesAgain

	sparesForGood

	capped
	keepsFormer

	endsEarly
	cutsShort
	dropsLiving
	forgetsSoon
	endsCleaning
	tooLate

	readsUncounted
	readsAgain

	unaskedEntry
	unaskedRelease
	leavesFirst

	trustsFrees
	trustsChanges
	trustsLate

	anyServer

	unaskedLeave
	unclosedLeave
	takesBack

	settlesErrors
	leavesErrors
	breaches
)

// rules says what each of them leaves out.
var rules = explore.Table[breach]{
	noGuard:          {Name: "noguard", Text: "no request looks for a guard, nor sets one"},
	forGood:          {Name: "inf", Text: "the home line of another hold is closed for good instead of below a number"},
	lowers:           {Name: "lowers", Text: "a guard that is set later takes the place of a greater one"},
	ownLineOnly:      {Name: "ownline", Text: "a request closes its own home line only"},
	staysPut:         {Name: "stays", Text: "the number does not go up"},
	settlesAll:       {Name: "settlesall", Text: "an answered request closes more open requests than it should"},
	unstamped:        {Name: "unstamped", Text: "a renewal is not stamped, whatever it is sent behind"},
	plainRenewal:     {Name: "plainrenewal", Text: "a renewal shortens, as a Refresh does"},
	shortens:         {Name: "shortens", Text: "an Obtain shortens the lease that its token holds"},
	noSpare:          {Name: "nospare", Text: "a clean-up spares nothing"},
	settlesOvertaken: {Name: "hollow", Text: "an overtaken request counts as one that has closed"},
	freesUncounted:   {Name: "relfly", Text: "an Obtain does not close a Release that is under way"},
	changesUncounted: {Name: "changefly", Text: "an Obtain does not close a Refresh, a Downgrade or an Upgrade that is under way"},
	heedsOvertaken:   {Name: "onlyovertaken", Text: "only a try after an overtaken one leaves alone what later Obtains count on"},
	releasesAgain:    {Name: "releaseagain", Text: "a Release that is sent again spares nothing"},
	refreshesAgain:   {Name: "refreshagain", Text: "a Refresh that is sent again shortens"},
	upgradesAgain:    {Name: "upgradeagain", Text: "an Upgrade that is sent again shortens"},
	downgradesAgain:  {Name: "downgradeagain", Text: "a Downgrade is sent again"},
	sparesForGood:    {Name: "sparesforgood", Text: "what a Release has spared is not cleaned up when nobody counts on it any more"},
	capped:           {Name: "cap", Text: "the last number is used for ever"},
	keepsFormer:      {Name: "former", Text: "with a fresh id, nothing is closed under the id before"},
	endsEarly:        {Name: "early", Text: "a guard does not outlive the requests that it is against"},
	cutsShort:        {Name: "pexpire", Text: "the PEXPIRE of a line ends a guard too soon"},
	dropsLiving:      {Name: "drops", Text: "a guard is dropped as if it were the entry of a dead waiter"},
	forgetsSoon:      {Name: "forgets", Text: "an owner begins anew while requests of it are open"},
	endsCleaning:     {Name: "endscleaning", Text: "a clean-up that nobody answers ends with the lease, before the last late request"},
	tooLate:          {Name: "late", Text: "a request is later than the life of a guard: the limit that is documented"},
	readsUncounted:   {Name: "readfly", Text: "an Obtain does not close one with read keys that is under way"},
	readsAgain:       {Name: "readagain", Text: "an Obtain that is sent again makes read keys of what a later one has as write keys"},
	unaskedEntry:     {Name: "unaskedentry", Text: "the short cut into a line does not look for a guard"},
	unaskedRelease:   {Name: "unaskedrelease", Text: "the short cut that hands over a single key does not look for a guard"},
	leavesFirst:      {Name: "leavesfirst", Text: "a waiter that gives up leaves the line of its first key only"},
	trustsFrees:      {Name: "trustsfrees", Text: "a hold counts on a key that a Release in another process has freed"},
	trustsChanges:    {Name: "trustschanges", Text: "a hold counts on a lease or mode that another process has changed"},
	trustsLate:       {Name: "trustslate", Text: "a hold counts on nothing late of another process being executed"},
	anyServer:        {Name: "anyserver", Text: "a request counts as closed whatever server that was closed on"},
	unaskedLeave:     {Name: "unaskedleave", Text: "a Release that leaves keys does not look for a guard"},
	unclosedLeave:    {Name: "unclosedleave", Text: "a Release that leaves keys does not set a guard"},
	takesBack:        {Name: "takesback", Text: "the token takes back what it has left"},
	settlesErrors:    {Name: "erroranswers", Text: "an error counts as an answer"},
	leavesErrors:     {Name: "leaveserrors", Text: "nothing is cleaned up after an Obtain that has failed"},
}

func (b breach) String() string { return rules[b].Name }
