// Package gateway is everything that passes between an agent and its model.
//
// A [Client] calls one model over the chat-completions protocol through go-openai. Its transport records
// every request and answer (bounded, without keys), waits out rate limits, server errors and broken
// connections before the first byte of an answer, tells the classes of errors apart, counts tokens and
// cost, and keeps the budgets. A [Recorder] collects the events of one attempt as JSON Lines; they become
// the attempt's log blob, read with the reader "stint-gateway".
//
//	rec := gateway.NewRecorder(blobs)
//	c, err := gateway.NewClient(gateway.Options{Model: m, Retry: true, Recorder: rec})
//	resp, err := c.CreateChatCompletion(ctx, openai.ChatCompletionRequest{Messages: msgs})
//	usage := c.Usage()
package gateway
