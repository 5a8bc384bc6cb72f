import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GrpcChannel } from '#/platform/grpc.ts'
import { SimulatedLinux, Simulation } from '#/platform/simulated.ts'
import { containerdConfiguration } from './configuration.ts'
import { OrphanRemover } from './orphan-remover.ts'

test('runc deletes an orphan container in the state directory that containerd is configured with', async () => {
  const simulation = new Simulation({ seed: 1 })
  const platform = simulation.host('node')
  const { files } = platform
  const [folder, socketPath] = ['/data', '/data/containerd.sock']
  const text = containerdConfiguration({
    version: { major: 2, minor: 1 },
    folder,
    socketPath,
    cni: { binFolder: '/opt/cni/bin', configFolder: '/etc/cni' },
    sandboxImage: 'pause:1',
    registryFolder: '/data/certs.d',
    snapshotter: 'overlayfs',
    canLowerOomScore: true,
  })
  const root = `${/^Root = "(.*)"$/m.exec(text)?.[1]}/k8s.io`
  const shim = [
    '/usr/bin/containerd-shim-runc-v2',
    '-namespace',
    'k8s.io',
    '-id',
    'c1',
    '-address',
    socketPath,
  ]
  const commands: string[] = []
  const linux = Object.assign(new SimulatedLinux({ files }), {
    run: async (command: readonly string[]) => {
      commands.push(command.join(' '))
      return ''
    },
  })
  const channel: GrpcChannel = {
    unary: async () => new Uint8Array(),
    stream: () => assert.fail('not used'),
    [Symbol.asyncDispose]: async () => undefined,
  }

  await simulation.run(
    (async () => {
      await files.makeFolder('/proc/41')
      await files.write('/proc/41/cmdline', shim.join('\0'))
      await files.makeFolder(`${root}/c1`)
      await new OrphanRemover({ platform, linux, folder, socketPath }).sweep(channel, 0)
    })(),
  )

  assert.deepEqual(commands, ['sh -c kill -9 41 || :', `runc --root ${root} delete --force c1`])
})
