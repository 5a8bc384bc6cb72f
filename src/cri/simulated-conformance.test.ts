import { Simulation } from '#/platform/simulated.ts'
import { criConformance } from './cri.conformance.ts'
import { SimulatedRuntime } from './simulated.ts'

const image = 'docker.io/library/busybox:latest'

criConformance('simulated', async () => {
  const simulation = new Simulation({ seed: 1 })
  const platform = simulation.host('node')
  const missing = 'exec: "/no/such/program": stat /no/such/program: no such file or directory'
  const runtime = new SimulatedRuntime({
    platform,
    podCidrs: ['10.244.0.0/24'],
    images: { [image]: { isPresent: true } },
    defaultScript: { execs: { '/no/such/program': { error: missing } } },
    containers: {
      deaf: { stopMs: Infinity },
      obedient: { stopExitCode: 5, logs: [{ text: 'listening' }] },
      absent: { startError: missing },
      hungry: { exitAfterMs: 100, isOutOfMemory: true },
      server: { ports: { 8080: 'echo' } },
    },
  })
  return {
    runtime,
    platform,
    image,
    folder: '/test',
    cgroupParent: '/test',
    run: promise => simulation.run(promise),
    killSandbox: async id => runtime.killSandbox(id),
    restart: async () => {
      runtime.faults.disconnect()
      platform.clock.setTimer(500, () => runtime.faults.reconnect())
    },
  }
})
