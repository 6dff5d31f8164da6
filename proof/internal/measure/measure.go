// Package measure counts what operations use: commands and processor time of servers, processor time
// and allocations of this process, and time. It measures several sides in alternating blocks, says
// how far the blocks are apart, and judges a figure by its limit unless the machine was too busy.
package measure
