// Package oracle says what is right: an interpreter that answers every request as the schema of a turn
// demands, and the faults that it can be given on purpose.
//
// The interpreter keeps its rows in memory and is deterministic. Suites are frozen against it, [Handler]
// serves it over HTTP as the reference, and with faults switched on the same code is the mutants that
// suites must kill and the servers of the simulated agent.
package oracle

// Version names the behaviour of this package. It is recorded with every episode.
const Version = "2"
