// Package status reads what a day has used out of the table: the ceiling, every caller,
// who is capped, who used most, and what is still held.
//
// The table's key is "<budget>#<day>#<caller key>" and nothing else, so the callers of a
// day cannot be queried: the whole table is read, with a bound on the reads and on their
// rate, so that the live system does not notice. Memory does not grow with the callers.
package status
