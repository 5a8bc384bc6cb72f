import assert from 'node:assert/strict'
import test from 'node:test'
import { Trace, traceLinesMax } from './trace.ts'
import { VirtualTime } from './virtual-time.ts'

test('a trace keeps the text of the last lines and the hash of all', () => {
  const traces = [1, 2].map(first => {
    const trace = new Trace(new VirtualTime())
    trace.record('host', `line ${first}`)
    for (let line = 0; line < traceLinesMax + 5; line++) trace.record('host', `more ${line}`)
    return trace
  })
  const [one, other] = traces.map(trace => trace.lines())
  assert.deepEqual(one, other)
  assert.equal(one?.length, traceLinesMax)
  assert.equal(one?.[0], '0.000 host: more 5')
  assert.equal(one?.at(-1), `0.000 host: more ${traceLinesMax + 4}`)
  assert.notEqual(traces[0]?.hash(), traces[1]?.hash())
})

test('a trace record is one bounded line', () => {
  const trace = new Trace(new VirtualTime())
  trace.record('host', `one\ntwo${'x'.repeat(1_000_000)}`)
  assert.equal(trace.lines().length, 1)
  assert.match(trace.lines()[0] ?? '', /^0\.000 host: one\\ntwox+\.\.\.$/)
  assert((trace.lines()[0]?.length ?? 0) < 3_000)
})

test('reading the trace hash does not change it', () => {
  const trace = new Trace(new VirtualTime())
  trace.record('host', 'a')
  assert.equal(trace.hash(), trace.hash())
  const before = trace.hash()
  trace.record('host', 'b')
  assert.notEqual(trace.hash(), before)
})
