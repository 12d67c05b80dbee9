package logs

// runnerFormats are the logs of evaluation frameworks and of agents that stint does not drive.
func runnerFormats() []Format {
	return []Format{
		atifFormat(),
		continueFormat(),
		geminiFormat(),
		halFormat(),
		harborFormat(),
		inspectFormat(),
		outcomeFormat(),
		piFormat(),
		sweAgentFormat(),
		sweBenchFormat(),
		terminalBenchFormat(),
	}
}
