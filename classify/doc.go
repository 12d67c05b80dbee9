// Package classify names the cause of every failed attempt, offline and without a model.
//
// It decides in the order of its codebook: was there a trustworthy result of grading; how did the agent end; which
// event of the closed list of infrastructure ended it, and did it recover from it; and if it ended cleanly, which
// clause of the contract its server breaks, and how. What the agent under test wrote can never move blame away from
// it: rules about infrastructure read trusted channels alone.
//
// One failed attempt gets one verdict with one leaf of the taxonomy stint-failures/1.0; what cannot be decided is
// unknown, with the reason and the inputs that were missing. The codebook is one embedded YAML file ([Codebook]):
// leaves, the order in which causes explain each other away, the contract table and the rules, with their examples.
package classify
