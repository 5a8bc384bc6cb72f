/** `k8ts up` with the embedded store. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, statfsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { K8tsClient } from '../clients/k8ts-client.ts'
import type { Fault, MissingFault } from '../faults.ts'
import { apiServerProcess, kubeconfigOf } from './api-server.ts'
import { ClusterFiles } from './damage/cluster-files.ts'
import { damageFault } from './damage/damage-fault.ts'
import { freePorts } from './free-ports.ts'
import { killFault, missingSyncFaults, stopFault, syncFaults } from './process-faults.ts'
import type { Target, TargetOptions } from './target.ts'

export async function startEmbeddedTarget(options: TargetOptions): Promise<Target> {
  const { folder, logFolder, isIsolated, recorder } = options
  await using stack = new AsyncDisposableStack()
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const disk = join(folder, 'disk')
  mkdirSync(disk)
  if (isIsolated) {
    // In a mount namespace of this tool, with which it goes in any case.
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes}`, 'k8ts-robustness', disk])
    stack.defer(() => void execFileSync('umount', ['--lazy', disk]))
  }
  const address = '127.0.0.1'
  const [port = 0] = await freePorts(address, 1)
  const dataFolder = join(disk, 'data')
  const server = stack.use(
    apiServerProcess({
      name: 'k8ts',
      command: 'up',
      folder: dataFolder,
      logFolder,
      address,
      port,
      store: 'embedded',
      prefix: [],
      flags: snapshotFlags,
    }),
  )
  await server.start()
  const started = stack.move()
  return {
    kubeconfigs: [kubeconfigOf(dataFolder)],
    faults: [
      killFault('kill', [server]),
      stopFault('stop', [server]),
      damageFault({
        server,
        files: new ClusterFiles({ folder: dataFolder, copiesFolder: join(folder, 'copies') }),
        recorder,
        ensureNamespace: () => ensureNamespace(kubeconfigOf(dataFolder)),
      }),
      ...(isIsolated ? [fullDisk(disk, kubeconfigOf(dataFolder))] : []),
      ...syncFaults('api-server', [server]),
    ],
    missingFaults: [...(isIsolated ? [] : [missingDisk]), ...missingSyncFaults()],
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

/** A few, which are often older than a repair. */
const snapshotFlags = ['--snapshot-interval', '2s', '--snapshot-retention', '3']

async function ensureNamespace(kubeconfig: string): Promise<void> {
  await using client = await K8tsClient.open('administrator', kubeconfig)
  await client.createNamespace()
}

/** More than a long run needs. */
const diskBytes = 2 * 1024 * 1024 * 1024

const missingDisk: MissingFault = { kind: 'full-disk', reason: 'a disk of its own needs root' }

/** The disk shrinks to what is used, and space that the store has reserved is used up. */
function fullDisk(disk: string, kubeconfig: string): Fault {
  return {
    kind: 'full-disk',
    parts: ['disk'],
    inject: async () => {
      for (let attempt = 1; !isShrunk(disk); attempt++) {
        if (attempt === shrinkAttemptsMax) throw new Error(`${disk} cannot be made smaller`)
      }
      await writeUntilFull(kubeconfig)
      return async () => resize(disk, diskBytes)
    },
  }
}

const shrinkAttemptsMax = 20

/** False if the store has written meanwhile, so that the size is less than what is used. */
function isShrunk(disk: string): boolean {
  const { blocks, bfree, bsize } = statfsSync(disk)
  try {
    resize(disk, (blocks - bfree + spareBlocks) * bsize)
    return true
  } catch {
    return false
  }
}

const spareBlocks = 16

function resize(disk: string, bytes: number): void {
  execFileSync('mount', ['-o', `remount,size=${bytes}`, disk], { stdio: 'ignore' })
}

/** With ever smaller writes, until the smallest do not fit either. */
async function writeUntilFull(kubeconfig: string): Promise<void> {
  await using client = await K8tsClient.open('filler', kubeconfig)
  let number = 0
  for (const bytes of fillerSizesBytes) {
    const end = number + fillerWritesMax
    for (let isFull = false; !isFull && number < end; number++) {
      const request = { verb: 'apply', key: fillerKey, value: `filler-${number}-${bytes}` } as const
      isFull = (await client.perform(request, fillerTimeoutMs)).type !== 'ok'
    }
  }
}

/** Not an object of the history. */
const fillerKey = 'filler'
const fillerSizesBytes = [900_000, 90_000, 9_000, 100]
const fillerWritesMax = 100
const fillerTimeoutMs = 5_000
