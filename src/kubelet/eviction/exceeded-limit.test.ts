import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PodSpec } from '#/api/generated/core/v1.ts'
import { kubeletPod } from '../testdata/objects.ts'
import { exceededLimit, hasContainerLimit, hasStorageLimit } from './exceeded-limit.ts'
import type { PodUsage } from './pod-usage.ts'

const mebi = 1024 ** 2

/** Container `c` of a pod with the volume `v`; all amounts in mebibytes. */
interface Case {
  readonly limit?: string
  readonly otherLimit?: string
  readonly volume?: { readonly sizeLimit?: string; readonly medium?: string }
  readonly layer?: number
  readonly logs?: number
  readonly used?: number
  readonly isDedicated?: boolean
}

function podOf({ limit, otherLimit, volume }: Case): ReturnType<typeof kubeletPod> {
  const limited = (name: string, amount: string | undefined): PodSpec['containers'][number] => ({
    name,
    ...(amount !== undefined && { resources: { limits: { 'ephemeral-storage': amount } } }),
  })
  return kubeletPod({
    spec: {
      containers: [limited('c', limit), limited('other', otherLimit)],
      volumes: [{ name: 'v', emptyDir: volume ?? {} }],
    },
  })
}

function usageOf({ layer = 0, logs = 0, used }: Case): PodUsage {
  const amount = (bytes: number) => ({ bytes: bytes * mebi, inodes: 1 })
  return {
    containers: [{ name: 'c', memoryBytes: 0, writableLayer: amount(layer), logs: amount(logs) }],
    volumes: used === undefined ? [] : [{ name: 'v', ...amount(used) }],
    processes: 1,
    isComplete: true,
  }
}

test('a pod is over its limits of ephemeral storage', () => {
  const volume = 'Usage of EmptyDir volume "v" exceeds the limit "10Mi". '
  const pod = 'Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. '
  const cases: readonly (readonly [Case, string | undefined])[] = [
    [{ volume: { sizeLimit: '10Mi' }, used: 10 }, undefined],
    [{ volume: { sizeLimit: '10Mi' }, used: 11 }, volume],
    [{ volume: { sizeLimit: '10Mi' }, layer: 100 }, undefined],
    [{ volume: { sizeLimit: '10Mi', medium: 'Memory' }, used: 11 }, undefined],
    [{ volume: { sizeLimit: '0' }, used: 11 }, undefined],
    [{ volume: {}, used: 11 }, undefined],
    [{ limit: '10Mi', layer: 5, logs: 5 }, undefined],
    [{ limit: '10Mi', layer: 5, logs: 6 }, pod],
    [{ limit: '10Mi', layer: 3, logs: 3, used: 5 }, pod],
    [{ limit: '10Mi', volume: { sizeLimit: '10Mi' }, used: 11 }, volume],
    [
      { limit: '10Mi', otherLimit: '20Mi', layer: 5, logs: 6 },
      'Container c exceeded its local ephemeral storage limit "10Mi". ',
    ],
    [{ limit: '10Mi', otherLimit: '20Mi', layer: 5, logs: 6, isDedicated: true }, undefined],
    [
      { limit: '10Mi', otherLimit: '20Mi', logs: 11, isDedicated: true },
      'Container c exceeded its local ephemeral storage limit "10Mi". ',
    ],
    [{ otherLimit: '20Mi', layer: 11 }, undefined],
  ]
  for (const [given, expected] of cases) {
    const found = exceededLimit(podOf(given), usageOf(given), given.isDedicated ?? false)
    assert.equal(found?.message, expected, JSON.stringify(given))
  }
})

test('only pods with limits are measured', () => {
  const cases: readonly (readonly [Case, boolean, boolean])[] = [
    [{}, false, false],
    [{ volume: { sizeLimit: '1Mi' } }, true, false],
    [{ volume: { sizeLimit: '1Mi', medium: 'Memory' } }, false, false],
    [{ limit: '1Mi' }, true, true],
  ]
  for (const [given, isLimited, isContainerLimited] of cases) {
    const pod = podOf(given)
    assert.deepEqual([hasStorageLimit(pod), hasContainerLimit(pod)], [isLimited, isContainerLimited])
  }
})
