/** The trace in docs/walkthrough.md is complete and explained; `containers.test.ts` compares it with a real one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explainedHops, walkthroughHops } from './walkthrough-trace.ts'

/** Each hop comes after one that it depends on. */
const chains = [
  [
    'kubernetes-admin: create Deployment',
    'deployment-controller: create ReplicaSet',
    'replicaset-controller: create Pod',
    'default-scheduler: create Pod/binding',
    'kubelet: patch Pod/status',
    'kubelet: patch Pod/status',
  ],
  ['kubelet: patch Pod/status', 'endpoint-slice-controller: update EndpointSlice', 'kube-proxy'],
  ['kubelet: patch Pod/status', 'endpoint-slice-controller: update EndpointSlice', 'dns'],
  ['kubelet: patch Pod/status', 'endpoint-controller: update Endpoints'],
  [
    'kubelet: patch Pod/status',
    'replicaset-controller: update ReplicaSet/status',
    'deployment-controller: update Deployment/status',
  ],
]

test('the walkthrough shows every hop from the request to the container and back, in order', () => {
  const names = walkthroughHops().map(({ name }) => name)
  for (const chain of chains) assert.deepEqual(subsequence(names, chain), chain)
})

/** The longest begin of the expected names that occurs in order. */
function subsequence(names: readonly string[], expected: readonly string[]): readonly string[] {
  let found = 0
  for (const name of names) if (name === expected[found]) found++
  return expected.slice(0, found)
}

test('the walkthrough shows the steps of the scheduler, the kubelet and the service proxy', () => {
  const stepsOf = (name: string): readonly string[] =>
    walkthroughHops().flatMap(hop => (hop.name === name ? hop.steps : []))
  assert.deepEqual(
    stepsOf('default-scheduler: create Pod/binding'),
    'snapshot prefilter filter reserve permit prebind bind'.split(' '),
  )
  assert.deepEqual(
    stepsOf('kubelet: patch Pod/status'),
    'admit cgroup volumes sandbox create start readiness-probe'.split(' '),
  )
  assert.deepEqual(stepsOf('kube-proxy'), ['plan', 'write-rules'])
})

test('the walkthrough and its translation explain each hop of the trace once, as it was printed', () => {
  const linesOf = (hops: ReturnType<typeof walkthroughHops>): readonly string[] =>
    hops.map(({ lines }) => lines.join('\n')).toSorted()
  const printed = linesOf(walkthroughHops())
  assert.ok(printed.length > 0)
  for (const page of ['walkthrough.md', 'walkthrough.zh-CN.md']) {
    assert.deepEqual(linesOf(walkthroughHops(page)), printed)
    assert.deepEqual(linesOf(explainedHops(page)), printed)
  }
})
