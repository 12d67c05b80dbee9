// Package gateway is everything that passes between an agent and its model.
//
// The built-in agent holds a [Client], which calls one model over the chat-completions protocol through go-openai.
// Agents outside stint reach their model through the [Proxy], an HTTP server on a unix socket that speaks chat
// completions, OpenAI's Responses and Anthropic's Messages; an [Attempt] is the way in for one attempt, by its
// token. Below both is one transport: it records every request and answer (bounded, without keys), waits out rate
// limits, server errors and broken connections before the first byte of an answer, tells the classes of errors
// apart, counts tokens and cost, and keeps the budgets. A [Recorder] collects the events of one attempt as JSON
// Lines; they become the attempt's log blob, read with the reader "stint-gateway".
//
//	rec := gateway.NewRecorder(blobs)
//	c, err := gateway.NewClient(gateway.Options{Model: m, Retry: true, Recorder: rec})
//	resp, err := c.CreateChatCompletion(ctx, openai.ChatCompletionRequest{Messages: msgs})
//	usage := c.Usage()
//
//	p, err := gateway.NewProxy(gateway.ProxyOptions{})
//	a, err := p.Open(gateway.Options{Model: m, Retry: true, Recorder: rec})
//	… an agent is started with a.Token() as its key, and reaches p.Socket() …
//	a.Close()
//	usage, state := a.Usage(), a.State()
package gateway
