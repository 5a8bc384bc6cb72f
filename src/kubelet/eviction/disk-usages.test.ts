import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { kubeletConfiguration } from '../kubelet-configuration.ts'
import { kubeletPod } from '../testdata/objects.ts'
import { DiskUsages } from './disk-usages.ts'

function podOf(name: string): ReturnType<typeof kubeletPod> {
  return kubeletPod({ metadata: { name, uid: name }, spec: { containers: [{ name: 'c' }] } })
}

test('a long measurement is not waited for, is repeated rarely and does not delay other pods for long', async () => {
  const simulation = new Simulation({ seed: 1 })
  const platform = simulation.host('node')
  const { clock } = platform
  const measured: string[] = []
  const usages = new DiskUsages({
    platform,
    linux: { files: { usage: async () => ({ bytes: 10, inodes: 1 }) } },
    volumes: {
      async ephemeralUsage({ metadata }) {
        measured.push(`${metadata.name} ${clock.monotonicMs() / 1_000}`)
        if (metadata.name === 'slow') await clock.sleep(5_000)
        return []
      },
    },
    node: kubeletConfiguration({ name: 'n', addresses: [], rootDirectory: '/', cgroupRoot: '/' }),
  })
  const pods = [podOf('slow'), podOf('fast')]
  const { signal } = new AbortController()
  const rounds: string[] = []
  const startMs = clock.monotonicMs()
  await simulation.run(
    (async () => {
      for (let second = 0; second <= 110; second += 10) {
        const found = await usages.measure(pods, signal)
        rounds.push([...found.keys()].join(' '))
        await clock.sleep(second * 1_000 + 10_000 - (clock.monotonicMs() - startMs))
      }
    })(),
  )
  assert.deepEqual(rounds.slice(0, 3), ['', 'slow fast', 'slow fast'])
  const times = (name: string): readonly number[] => {
    const own = measured.filter(text => text.startsWith(`${name} `))
    return own.map(text => Math.round(Number(text.split(' ')[1]) - startMs / 1_000))
  }
  assert.deepEqual(times('slow'), [0, 100], 'a twentieth of the time')
  assert.deepEqual(times('fast'), [5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 105, 110])
})
