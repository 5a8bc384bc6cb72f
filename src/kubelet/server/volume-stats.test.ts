import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import type { VolumeUsage } from '../volumes.ts'
import { renderFamilies } from './metric-text.ts'
import { VolumeStats } from './volume-stats.ts'

const space = { totalBytes: 100, availableBytes: 60, totalInodes: 10, freeInodes: 7 }

function usage(claim?: string): VolumeUsage {
  return {
    name: 'data',
    usedBytes: 30,
    usedInodes: 2,
    space,
    isEphemeral: false,
    ...(claim !== undefined && { claim: { namespace: 'default', name: claim } }),
  }
}

test('claims are measured once, even if several pods use them, and not again within a minute', async () => {
  const simulation = new Simulation({ seed: 1 })
  const { clock } = simulation.host('node')
  let measurements = 0
  const claimUsage = async (): Promise<readonly VolumeUsage[]> => {
    measurements++
    return [usage('a'), usage('b'), usage('a'), usage()]
  }
  const stats = new VolumeStats({ platform: { clock }, view: { claimUsage } })
  const render = async (): Promise<string> => renderFamilies(await simulation.run(stats.families()))
  const lines = (await render()).split('\n').filter(line => !line.startsWith('#'))
  const labels = (name: string): string => `{namespace="default",persistentvolumeclaim="${name}"}`
  assert.deepEqual(
    lines.filter(line => line.includes(labels('a'))),
    [
      `kubelet_volume_stats_available_bytes${labels('a')} 60`,
      `kubelet_volume_stats_capacity_bytes${labels('a')} 100`,
      `kubelet_volume_stats_inodes${labels('a')} 10`,
      `kubelet_volume_stats_inodes_free${labels('a')} 7`,
      `kubelet_volume_stats_inodes_used${labels('a')} 2`,
      `kubelet_volume_stats_used_bytes${labels('a')} 30`,
    ],
  )
  assert.equal(lines.filter(line => line.includes(labels('b'))).length, 6)
  await render()
  assert.equal(measurements, 1)
  await simulation.advance(61_000)
  await render()
  assert.equal(measurements, 2)
})
