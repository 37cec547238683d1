// Package simulate plays a day of calls against the caps and prices of the operator's
// file, before anything is deployed: how much would have been spent, who would have been
// refused and by what, and when the ceiling would have been reached.
//
// What decides is not a model of the caps but the caps: [caps.Guard] on [memory.Store],
// with a clock that goes through the day. A call takes its worst case when it arrives and
// is settled when it ends, so that holds crowd a ceiling as they do in reality, and what
// it holds and costs is priced by package llm. The traffic comes from [Generate] or from
// [ReadCSV].
//
// What is simplified: a request is one message of text without tools; signed-in callers
// are each at an address of their own, so that caps.address holds nobody back, and
// rate_limits hold nobody back either; a caller that is refused does not come back; an
// upstream never fails, except that a call which takes longer than [deadlines.Provider] is
// cut off, and its hold stays.
//
// [memory.Store]: https://pkg.go.dev/github.com/seed3e88d9a2/spendcap/caps/memory#Store
package simulate
