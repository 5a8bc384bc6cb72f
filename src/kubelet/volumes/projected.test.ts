import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod } from '#/api/generated/core/v1.ts'
import { tokenOwner } from './projected.ts'

interface Case {
  readonly pod?: number
  readonly containers: readonly (number | undefined)[]
  readonly fsGroup?: number
  readonly expected: string
}

const cases: readonly Case[] = [
  { containers: [undefined], expected: '644' },
  { containers: [7], expected: '600 of 7' },
  { containers: [7, 7], expected: '600 of 7' },
  { containers: [7, 8], expected: '644' },
  { containers: [7, undefined], expected: '644' },
  { pod: 7, containers: [undefined, undefined], expected: '600 of 7' },
  { pod: 7, containers: [undefined, 8], expected: '644' },
  { pod: 7, containers: [8, 8], expected: '600 of 8' },
  { containers: [undefined], fsGroup: 5, expected: '600' },
]

test('token file mode and owner follow runAsUser, fsGroup or default to 0644', () => {
  for (const { pod: ofPod, containers, fsGroup, expected } of cases) {
    const pod: Pod = {
      metadata: {},
      spec: {
        securityContext: {
          ...(ofPod !== undefined && { runAsUser: ofPod }),
          ...(fsGroup !== undefined && { fsGroup }),
        },
        containers: containers.map((runAsUser, index) => ({
          name: `c${index}`,
          ...(runAsUser !== undefined && { securityContext: { runAsUser } }),
        })),
      },
    }
    const { mode, uid } = tokenOwner(pod, 0o644)
    assert.equal(uid === undefined ? mode.toString(8) : `${mode.toString(8)} of ${uid}`, expected)
  }
})
