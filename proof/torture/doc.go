// Package torture runs campaigns: several processes that obtain locks in every way that the library has, faults that are done to
// them and to the servers, and checkers that compare what the processes have written down with what the library promises.
//
//	make torture                                   # two minutes on all topologies
//	make torture FOR=30m TOPOLOGY=cluster SEED=7
//	make torture SEED=7 TOPOLOGY=cluster ROUND=3 FAULTS=2
//
// A campaign is a series of rounds. In each some processes play a workload (package work) on the servers of a topology (package
// world), while faults happen as a plan says that depends on the seed alone (package campaign). After the last fault the
// processes go on for a while, then they are asked to end. What they have written down (package history) is checked (package
// check): a promise is not checked in a round with a fault that may break it, which the fault says by itself.
//
// A round that fails says its seed and what was found, and keeps its history in a folder, with pictures. It is done again with
// fewer and fewer faults, as long as it fails in three of ten reruns. The same seed makes the same plan, but not the same run.
//
// The module is for work on this repo, on Linux. Nobody can import it.
package torture
