/**
 * A private containerd in a temporary folder, with the pause image, busybox and its own pod network.
 * Everything it created is removed when the test ends: pods, mounts, cgroups, processes and the folder.
 * Several can run side by side.
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensurePauseImage, loadImage, type ImageLoader } from '#/cri/load-image.ts'
import { PrivateContainerd } from '#/cri/private-containerd.ts'
import type { Containerd } from '#/cri/containerd.ts'
import { removePods } from './remove-pods.ts'
import { connectHttp, loadGrpc, nodeLinux, nodePlatform } from '#/platform/node.ts'
import type { GrpcConnect } from '#/platform/grpc.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import { machineWideName } from '../temporary-folder.ts'
import { busyboxImage } from './test-images.ts'

export const cniBinFolder = '/usr/lib/cni'

/** The reason why containers cannot run here; false when they can. */
export const containersMissing: string | false = reasonForNone()

export class TestContainerd implements AsyncDisposable {
  readonly folder: string
  readonly platform: Platform
  readonly linux: Linux
  readonly containerd: PrivateContainerd
  readonly runtime: Containerd
  /** For sandboxes of this test only. */
  readonly cgroupParent: string
  readonly #connectGrpc: GrpcConnect

  private constructor(options: {
    readonly folder: string
    readonly platform: Platform
    readonly linux: Linux
    readonly containerd: PrivateContainerd
    readonly connectGrpc: GrpcConnect
    readonly cgroupParent: string
  }) {
    this.folder = options.folder
    this.platform = options.platform
    this.linux = options.linux
    this.containerd = options.containerd
    this.runtime = options.containerd.connect()
    this.cgroupParent = options.cgroupParent
    this.#connectGrpc = options.connectGrpc
  }

  static async start(): Promise<TestContainerd> {
    const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
    const linux = await nodeLinux()
    const connectGrpc = await loadGrpc()
    const folder = await mkdtemp(join(tmpdir(), 'k8ts-cri-'))
    const number = started++
    const configFolder = join(folder, 'cni')
    await mkdir(configFolder)
    await writeFile(join(configFolder, '10-test.conflist'), cniConfiguration(folder, number))
    const options = {
      platform,
      linux,
      connectGrpc,
      connectHttp,
      cni: { binFolder: cniBinFolder, configFolder },
    }
    const launcher = ['sh', '-c', waitWhileHeld, join(folder, holdName)]
    const containerd = await PrivateContainerd.start({
      ...options,
      folder: join(folder, 'containerd'),
      launcher,
    })
    const cgroupParent = `/${machineWideName()}`
    const test = new TestContainerd({ folder, platform, linux, containerd, connectGrpc, cgroupParent })
    try {
      await ensurePauseImage(test.loader)
      await test.load(await busyboxImage())
      return test
    } catch (error) {
      await test[Symbol.asyncDispose]()
      throw error
    }
  }

  /** Kills containerd, and keeps it down while `action` runs. Resolves when the next process may start. */
  async whileDown(action: () => Promise<void>): Promise<void> {
    const holdPath = join(this.folder, holdName)
    await writeFile(holdPath, '')
    try {
      process.kill(this.containerd.pid!, 'SIGKILL')
      await action()
    } finally {
      await rm(holdPath)
    }
  }

  get loader(): ImageLoader {
    const { platform, linux, runtime, containerd } = this
    return { platform, linux, runtime, connectGrpc: this.#connectGrpc, socketPath: containerd.socketPath }
  }

  /** Resolves with the image references in the archive. */
  async load(archive: Uint8Array): Promise<readonly string[]> {
    const path = join(this.folder, 'image.tar')
    await writeFile(path, archive)
    try {
      return await loadImage(this.loader, path)
    } finally {
      await rm(path)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await removePods(this.runtime, this.platform)
      await this.containerd.removeOrphans()
    } finally {
      await this.runtime[Symbol.asyncDispose]()
      await this.containerd[Symbol.asyncDispose]()
      await this.#removeTraces()
    }
  }

  /** Also removes the remains of pods that could not be removed normally. */
  async #removeTraces(): Promise<void> {
    for (const pid of await processesWith(this.containerd.socketPath)) process.kill(pid, 'SIGKILL')
    const mounts = await this.linux.mounts.list()
    const below = mounts.filter(({ path }) => path.startsWith(`${this.folder}/`))
    for (const { path } of below.reverse()) await this.linux.mounts.unmount(path)
    await rm(this.folder, { recursive: true, force: true })
    await removeCgroups(this.cgroupParent)
  }
}

let started = 0

/** While this file exists, no containerd starts. */
const holdName = 'hold'
const waitWhileHeld = 'while test -e "$0"; do sleep 0.02; done; exec "$@"'

function reasonForNone(): string | false {
  if (process.getuid?.() !== 0) return 'containers need root'
  const missing = programsMissing()
  return missing !== '' && `not installed: ${missing} (see tools/packages/)`
}

function programsMissing(): string {
  const programs = ['containerd', 'ctr', 'runc', 'busybox', 'catatonit', 'iptables', 'ip']
  const environment = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/sbin` }
  const missing = programs.filter(program => {
    try {
      execFileSync('sh', ['-c', `command -v ${program}`], { env: environment, stdio: 'ignore' })
      return false
    } catch {
      return true
    }
  })
  return [...missing, ...(existsSync(join(cniBinFolder, 'ptp')) ? [] : ['CNI plugins'])].join(', ')
}

/** Addresses derived from the PID, so that concurrent tests do not conflict. */
function cniConfiguration(folder: string, number: number): string {
  const { pid } = process
  const subnet = `10.${64 + ((pid >> 8) & 63)}.${pid & 255}.${(number % 4) * 64}/26`
  const ipam = {
    type: 'host-local',
    dataDir: join(folder, 'ipam'),
    ranges: [[{ subnet }]],
    routes: [{ dst: '0.0.0.0/0' }],
  }
  return JSON.stringify({
    cniVersion: '1.0.0',
    name: 'test',
    plugins: [
      { type: 'ptp', ipMasq: false, mtu: 1450, ipam },
      { type: 'portmap', capabilities: { portMappings: true }, snat: true },
    ],
  })
}

/** In every v1 hierarchy, or in the v2 tree. */
async function removeCgroups(parent: string): Promise<void> {
  const root = '/sys/fs/cgroup'
  for (const controller of ['', ...(await readdir(root))]) {
    const folder = join(root, controller, parent)
    if (existsSync(folder)) await removeTree(folder)
  }
}

async function removeTree(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true })
  for (const entry of entries) if (entry.isDirectory()) await removeTree(join(folder, entry.name))
  await rmdir(folder)
}

/** PIDs of the processes with this text in their command line. */
export async function processesWith(text: string): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name))
  const found = await Promise.all(
    pids.map(async pid => {
      const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
      return line.includes(text) ? Number(pid) : undefined
    }),
  )
  return found.filter(pid => pid !== undefined)
}
