import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ContainerState, SandboxState } from '../cri.ts'
import { changedPods, podFingerprints } from './container-events.ts'

/** Parses `uid/id=state`; the states `ready` and `not-ready` denote sandboxes, all others containers. */
function fingerprints(notation: string) {
  const common = { createdAt: 0n, labels: {}, annotations: {} }
  const things = notation
    .split(' ')
    .filter(Boolean)
    .map(text => text.split(/[/=]/) as [string, string, string])
  const sandboxes = things.filter(([, , state]) => state.endsWith('ready'))
  const containers = things.filter(([, , state]) => !state.endsWith('ready'))
  return podFingerprints(
    sandboxes.map(([uid, id, state]) => ({
      ...common,
      id,
      metadata: { name: uid, namespace: 'n', uid, attempt: 0 },
      state: state as SandboxState,
    })),
    containers.map(([uid, id, state]) => ({
      ...common,
      id,
      sandboxId: 's',
      name: id,
      attempt: 0,
      image: 'i',
      labels: { 'io.kubernetes.pod.uid': uid },
      state: state as ContainerState,
    })),
  )
}

const cases: readonly [before: string, after: string, changed: string][] = [
  ['', '', ''],
  ['a/s=ready', 'a/s=ready', ''],
  ['a/s=ready a/c=running', 'a/c=running a/s=ready', ''],
  ['a/s=ready', 'a/s=not-ready', 'a'],
  ['a/s=ready a/c=running', 'a/s=ready a/c=exited', 'a'],
  ['a/s=ready', 'a/s=ready b/t=ready', 'b'],
  ['a/s=ready b/t=ready', 'b/t=ready', 'a'],
  ['a/s=ready a/c=exited', 'a/s=ready a/d=exited', 'a'],
  ['a/c=running', '', 'a'],
  ['a/s=ready b/t=ready c/u=ready', 'b/t=not-ready c/u=ready', 'a b'],
]

test('added, removed and changed pods have different fingerprints', () => {
  for (const [before, after, changed] of cases) {
    const found = changedPods(fingerprints(before), fingerprints(after)).sort()
    assert.equal(found.join(' '), changed, `${before} -> ${after}`)
  }
})
