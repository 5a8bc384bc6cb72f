import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodePlatform } from '#/platform/node.ts'
import { formatTrace, HopPrinter, traceJson, type FormatOptions } from './format-trace.ts'
import { planTrace } from './plan-trace.ts'
import { pass, rolloutRecords, write } from './test-records.ts'
import type { Trace, TraceTarget } from './trace.ts'

const deployment: TraceTarget = { kind: 'Deployment', apiVersion: 'apps/v1', namespace: 'shop', name: 'web' }

test('a rollout of one pod shows every hop', () => check(rollout(), 'rollout.txt'))

test('hops of many pods are summarized', () => check(manyPods(), 'many-pods.txt'))

test('--all shows the hops of many pods one by one', () => {
  const text = formatTrace(manyPods(), { isComplete: true })
  for (let index = 0; index < 6; index++) assert.match(text, new RegExp(`create Pod shop/web-1-${index} @`))
})

test('gaps, notes and corrected clocks are shown', () => check(troubled(), 'troubled.txt'))

test('control characters of names, details and user agents are escaped', () => {
  const trace = hostile()
  const printer = new HopPrinter()
  const texts = [formatTrace(trace), printer.next(trace) + printer.end()]
  for (const text of [...texts, traceJson(trace)]) {
    assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\u202e]/u)
    assert.match(text, /u001b\[31m/)
  }
  assert.ok(
    Math.max(
      ...formatTrace(trace)
        .split('\n')
        .map(line => line.length),
    ) < 700,
  )
})

test('JSON has the root by its id, and the hops with their segments', () => {
  const document = JSON.parse(traceJson(rollout())) as Trace & { readonly kind: string }
  assert.deepEqual([document.kind, document.root, document.hops.length], ['Trace', '100', 11])
  assert.equal(document.hops[0]?.segments[0]?.kind, 'request')
})

test('a trace that grows is printed hop by hop, each once, and another chain with a heading', () => {
  const { writes } = rolloutRecords()
  const scale = write(120, 'bob', 'update Deployment/scale shop/web', { at: 60_000 })
  const scaled = write(121, 'deployment-controller', 'update ReplicaSet shop/web-1', {
    at: 60_010,
    causes: [120],
  })
  const printer = new HopPrinter()
  const stages = [writes.slice(0, 3), writes.slice(0, 5), writes, [...writes, scale, scaled]]
  const texts = stages.map(each => printer.next(planned({ writes: each })))
  const counts = texts.map(text => text.match(/ @\d+$/gm)?.length)
  // The heading names the root, too.
  assert.deepEqual(counts, [3, 2, 5, 3])
  assert.deepEqual(
    texts.map(text => text.includes('OFFSET')),
    [true, false, false, true],
  )
  assert.match(texts[3] ?? '', /9 hops in 1.05 s/)
  assert.match(printer.end(), /2 hops in 12 ms/)
  assert.equal(
    printer.waiting(['pod shop/a: not scheduled', 'pod shop/b: \u001b[31m']),
    '    waiting for pod shop/a: not scheduled\n    waiting for pod shop/b: \\u001b[31m\n',
  )
})

async function check(trace: Trace, file: string, options?: FormatOptions): Promise<void> {
  const { files } = nodePlatform({ log: { level: 'error', format: 'text' } })
  const expected = await files.read(join(import.meta.dirname, 'testdata', file))
  assert.equal(formatTrace(trace, options), Buffer.from(expected).toString())
}

function planned(input: Partial<Parameters<typeof planTrace>[0]>): Trace {
  const trace = planTrace({ writes: [], passes: [], target: deployment, ...input })
  assert.ok(trace)
  return trace
}

function rollout(): Trace {
  return planned(rolloutRecords())
}

function manyPods(): Trace {
  const indexes = Array.from({ length: 6 }, (_, index) => index)
  return planned({
    writes: [
      write(100, 'alice', 'create Deployment shop/web', { at: 8, received: 0 }),
      write(101, 'deployment-controller', 'create ReplicaSet shop/web-1', { at: 15, causes: [100] }),
      ...indexes.map(index => {
        return write(110 + index, 'replicaset-controller', `create Pod shop/web-1-${index}`, {
          at: 20 + index,
          causes: [101],
          key: 'shop/web-1',
          queued: 15.5,
          started: 16,
        })
      }),
      ...indexes.map(index => {
        const at = 40 + 3 * index
        return write(120 + index, 'default-scheduler', `create Pod/binding shop/web-1-${index}`, {
          at,
          causes: [110 + index],
          queued: 27,
        })
      }),
      ...indexes.map(index => {
        return write(130 + index, 'kubelet', `patch Pod/status shop/web-1-${index}`, {
          at: 300 + 10 * index,
          causes: [120 + index],
          queued: 60,
          started: 61,
          node: `node-${index % 2}`,
          steps: [`start web 0+${235 + 10 * index}`],
        })
      }),
      ...indexes.map(index => {
        return write(140 + index, 'replicaset-controller', 'update ReplicaSet/status shop/web-1', {
          at: 306 + 10 * index,
          causes: [130 + index],
        })
      }),
      write(150, 'deployment-controller', 'update Deployment/status shop/web', {
        at: 370,
        causes: [140, 145],
      }),
    ],
    passes: indexes.map(index => {
      return pass('kube-proxy', 'shop/web', { ended: 320 + index, causes: [130], node: `node-${index}` })
    }),
  })
}

function troubled(): Trace {
  return planned({
    writes: [
      write(101, 'deployment-controller', 'update Deployment shop/web', { at: 0, causes: [77] }),
      write(102, 'replicaset-controller', 'create Pod shop/web-1-a', { at: 90, causes: [101], queued: 80 }),
      write(103, 'kubelet', 'patch Pod/status shop/web-1-a', {
        at: 75_000,
        causes: [102],
        node: 'node-1',
        queued: -9_000,
        started: -8_990,
        steps: ['pull nginx:1.27 0+62000', 'start web 62500+100'],
      }),
      write(104, 'deployment-controller', 'update Deployment/status shop/web', {
        at: 2_000_000,
        causes: [103],
      }),
    ],
  })
}

function hostile(): Trace {
  const bad = '\u001b[31m\u202e\u0007\r\n'
  return planned({
    writes: [
      write(1, `alice${bad}`, 'create Deployment shop/web', {
        at: 8,
        received: 0,
        stages: [`webhook x${bad}${'y'.repeat(2_000)} 0+1`],
      }),
      write(2, `controller${bad}`, `create Pod${bad}/x${bad} shop/p${bad}`, {
        at: 20,
        causes: [1],
        node: bad,
        steps: [`pull ${bad.trim()}x 0+1`],
      }),
    ],
    passes: [pass(`dns${bad}`, `shop/${bad}`, { ended: 12, causes: [1] })],
  })
}
