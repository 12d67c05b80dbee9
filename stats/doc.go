// Package stats compares configurations of long coding-agent runs: how many
// turns each passed, on the same scenarios, with small whole numbers, many ties
// and zeros, a common cap and now and then a run that was stopped early.
//
// What it promises:
//
//   - Exact where exact is possible. The Wilcoxon signed-rank test counts sign
//     patterns, ties and zeros included, up to 1000 non-zero differences; the
//     bootstrap of a mean is a convolution, without random numbers, up to 60
//     scenarios. Anything approximate says so in its method name.
//   - No NaN in, no NaN out. Bad input is an error that names the record; an
//     undefined result has Defined == false and a Reason.
//   - Warnings are values with stable codes and never change numbers.
//   - The same input gives the same bits on any number of processors. Random
//     streams are derived from the seed, the procedure and the data.
//
// A comparison usually runs as follows:
//
//	r, err := stats.ComparePair(a, b, stats.ComparePairOptions{Cap: 101})
//	tests = append(tests, stats.Test{ID: "a-b", P: r.P, MinP: r.MinP})
//	f, err := stats.Family(tests, stats.FamilyOptions{})
//
// Questions and where they are answered:
//
//   - Does one configuration last longer than another: [ComparePair], and
//     [Pairwise] with [Family] for many. Runs that were stopped early are handled
//     by the paired Prentice-Wilcoxon test.
//   - How long does one last: [MeanTurns], [KaplanMeier], [Hazards]; what ends
//     it: [CumulativeIncidence]; what if some ends do not count: [MeanBounds].
//   - What do retries buy: [Retry], from the runs with the largest budget alone.
//   - How many scenarios does it take: [Attainable], [PowerSim],
//     [MDE], [PowerCurve].
//   - How stable is a ranking: [ResampleScenarios].
//   - Do labels agree: [KrippendorffAlpha], [CohenKappa], [FleissKappa].
//   - Does it pass every time: [PassK]; do shares differ: [McNemar], [Wilson].
//
// Where it applies less than it seems: unpaired tests ([Unpaired], [LogRank]),
// mean ranks ([Friedman], [NemenyiCD]) and Student's t ([StudentMean]) are here
// to reproduce published figures.
//
// Turns are numbered from 0 (the build). The value of an outcome is T, the
// number of turns passed before the first failed one; the cap is the number of
// turns there are. A run stopped by something that is not the agent's doing has
// passed at least T turns.
package stats
