// Package episode plays one episode: it asks an agent turn by turn, grades what it left, tells it what is
// wrong, and records everything in the episode's journal.
//
// [Run] is a fold and a loop. Every record that is appended to the journal is also folded into a state; the
// state alone says what comes next. Resuming is therefore nothing special: the records of the journal are
// folded first, and the loop goes on from the state they give. Whatever is killed between two records loses
// at most the running attempt.
//
// The order of the records of one attempt is
//
//	attempt.start  agent.exit  usage  snapshot  build  server.*  check.fail…  suite.end  grade.end
//
// and then one of turn.end, feedback.sent (the next attempt), void (process_retry, the same attempt again).
// An attempt that did not happen has attempt.start, agent.exit, usage, void. Blobs are on disk before the
// line that names them.
//
// [GradeMain] is the grader behind the hidden verb `stint __grade`: it runs inside the grade sandbox, reads a
// GradeRequest on stdin and answers with a GradeResult on stdout, so that no port leaves the sandbox and the
// agent can never read a check. Under the sandbox "none" the same code runs in-process.
package episode
