import { readFile, stat, statfs } from 'node:fs/promises'
import { arch, cpus, hostname, release } from 'node:os'
import type { HostInfo, Linux } from '../linux.ts'
import { linuxFiles } from './linux/files.ts'
import { linuxMounts } from './linux/mounts.ts'
import { run } from './linux/run.ts'

/** Facts about the machine that never change are read once, here. */
export async function nodeLinux(): Promise<Linux> {
  return { files: linuxFiles(), mounts: linuxMounts(), machine: await hostInfo(), run }
}

async function hostInfo(): Promise<HostInfo> {
  const memory = await content('/proc/meminfo')
  const machineId = (await content('/etc/machine-id')) || (await content('/var/lib/dbus/machine-id'))
  return {
    isRoot: process.geteuid?.() === 0,
    processors: cpus().length,
    memoryBytes: memoryLine(memory, 'MemTotal'),
    architecture: architectures[arch()] ?? 'amd64',
    kernelVersion: release(),
    osImage: osImageOf(await content('/etc/os-release')),
    machineId,
    bootId: await content('/proc/sys/kernel/random/boot_id'),
    systemUuid: (await content('/sys/class/dmi/id/product_uuid')) || machineId,
    hostname: hostname(),
    cgroupVersion: await cgroupVersion(),
    hasSystemd: await exists('/run/systemd/system'),
    swapBytes: memoryLine(memory, 'SwapTotal'),
  }
}

const architectures: Readonly<Record<string, HostInfo['architecture']>> = {
  x64: 'amd64',
  arm64: 'arm64',
  arm: 'arm',
  s390x: 's390x',
  ppc64: 'ppc64le',
}

/** Empty if the file is missing or unreadable. */
async function content(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch {
    return ''
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

function memoryLine(memory: string, name: string): number {
  const [, kibibytes = '0'] = new RegExp(`^${name}:\\s*(\\d+) kB`, 'm').exec(memory) ?? []
  return Number(kibibytes) * 1024
}

function osImageOf(osRelease: string): string {
  const [, name] = /^PRETTY_NAME="?([^"\n]*)"?/m.exec(osRelease) ?? []
  return name || 'Linux'
}

const cgroup2Magic = 0x63677270

async function cgroupVersion(): Promise<1 | 2> {
  const { type } = await statfs('/sys/fs/cgroup').catch(() => ({ type: 0 }))
  return type === cgroup2Magic ? 2 : 1
}
