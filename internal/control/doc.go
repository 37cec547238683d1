// Package control is what an operator sets while the system runs: a stop of all calls,
// limits other than the file's, and blocks of single callers.
//
// All of it is one [State], one item of the table, so that whoever obeys it needs one
// consistent read. The operator's machine changes it through an [Operator], which keeps
// a [Record] of each change in the same transaction; an instance follows it through a
// [Watcher].
package control
