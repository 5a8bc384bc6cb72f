/**
 * Removes what a test file has left on the machine, as one does that was killed. What tests make refers to their
 * temporary folder: processes in their command line or environment, containers in their root mount, mounts and loop
 * devices by their path, control groups and network namespaces by a name that contains the folder's. Interfaces of
 * pods go with their network namespaces. A whole cluster is removed by `k8ts down`.
 */
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { readdir, readFile, readlink, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { removeCgroup } from './remove-cgroup.ts'

/**
 * Resolves with what there was apart from files, one line each. Throws when something cannot be removed.
 * `root` is the folder of the tree.
 */
export async function removeLeftovers(folder: string, root: string): Promise<readonly string[]> {
  const found = [
    ...(await killProcesses(folder)),
    ...(await removeClusters(folder, root)),
    ...(await removeRuntimeFiles(folder)),
    ...(await removeMounts(folder)),
    ...(await removeLoopDevices(folder)),
    ...(await removeNetworkNamespaces(basename(folder))),
    ...(await removeCgroups(basename(folder))),
  ]
  await run('rm', ['-rf', '--one-file-system', folder])
  return found
}

const attemptsMax = 100
const attemptMs = 50

/** With all their descendants. What they start meanwhile is found the next time. */
async function killProcesses(folder: string): Promise<readonly string[]> {
  const killed = new Map<number, string>()
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const left = await processesOf(folder)
    if (left.size === 0) return [...killed].map(([pid, command]) => `process ${pid} ${command}`)
    for (const [pid, command] of left) {
      killed.set(pid, command)
      try {
        process.kill(pid, 'SIGKILL')
      } catch (error) {
        if (codeOf(error) !== 'ESRCH') throw error
      }
    }
    await sleep(attemptMs)
  }
  throw new Error(
    `processes of ${folder} cannot be killed: ${[...(await processesOf(folder)).values()].join()}`,
  )
}

/** Command lines by process ids. */
async function processesOf(folder: string): Promise<ReadonlyMap<number, string>> {
  const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name))
  const all = (await Promise.all(pids.map(readProcess))).filter(each => each !== undefined)
  const found = new Map<number, string>()
  for (const { pid, command, environment, rootMount } of all) {
    const isOurs = [command, rootMount].some(text => text.includes(`${folder}/`))
    if (isOurs || environment.includes(`TMPDIR=${folder}`)) found.set(pid, command)
  }
  for (let before = -1; before !== found.size;) {
    before = found.size
    for (const { pid, parent, command } of all) if (found.has(parent)) found.set(pid, command)
  }
  return found
}

interface RunningProcess {
  readonly pid: number
  readonly parent: number
  readonly command: string
  readonly environment: readonly string[]
  /** The line of its mount table, in a mount namespace of its own. */
  readonly rootMount: string
}

const ownMounts = await readlink('/proc/self/ns/mnt')

/** Undefined when it has ended, or waits for its parent. */
async function readProcess(name: string): Promise<RunningProcess | undefined> {
  const read = (file: string): Promise<string> => readFile(join('/proc', name, file), 'utf8')
  try {
    const [, state, parent] = /\) (\S) (\d+)/.exec(await read('stat')) ?? []
    if (state === 'Z' || state === 'X') return undefined
    const isElsewhere = (await readlink(join('/proc', name, 'ns/mnt'))) !== ownMounts
    const mounts = isElsewhere ? (await read('mountinfo')).split('\n') : []
    return {
      pid: Number(name),
      parent: Number(parent),
      command: (await read('cmdline')).replaceAll('\0', ' ').trim(),
      environment: (await read('environ')).split('\0'),
      rootMount: mounts.findLast(line => line.split(' ')[4] === '/') ?? '',
    }
  } catch {
    // Of other users nothing can be read, and nothing is ours.
    return undefined
  }
}

/** Those below the folder; their processes are dead. */
async function removeClusters(folder: string, root: string): Promise<readonly string[]> {
  const files = globSync(['*/network.json', '*/*/network.json'], { cwd: folder })
  const clusters = files.map(file => join(folder, dirname(file)))
  for (const cluster of clusters) await run(join(root, 'k8ts'), ['down', '--data-dir', cluster])
  return clusters.map(cluster => `cluster ${cluster}`)
}

/** What containerd and CNI keep of a container outside of their folders: sockets of shims, results, rules of ports. */
async function removeRuntimeFiles(folder: string): Promise<readonly string[]> {
  const tasks = 'state/io.containerd.runtime.v2.task/k8s.io/*'
  const bundles = globSync([`*/${tasks}`, `*/*/${tasks}`], { cwd: folder }).map(path => join(folder, path))
  const ids = bundles.map(bundle => basename(bundle))
  for (const bundle of bundles) {
    // The first is the file of containerd before 2.0.
    for (const name of ['address', 'bootstrap.json']) {
      const text = await readFile(join(bundle, name), 'utf8').catch(() => '')
      const socket = /unix:\/\/(\/run\/containerd\/s\/[0-9a-f]+)/.exec(text)?.[1]
      if (socket !== undefined) await rm(socket, { force: true })
    }
  }
  for (const name of await namesIn(cniResults))
    if (ids.some(id => name.includes(id))) await rm(join(cniResults, name), { force: true })
  if (ids.length > 0) await removeHostPorts(ids)
  return ids.map(id => `container ${id}`)
}

const cniResults = '/var/lib/cni/results'

/** The rules of the CNI plugin `portmap` name the sandbox, and jump to a chain of its own. */
async function removeHostPorts(ids: readonly string[]): Promise<void> {
  for (const iptables of ['iptables', 'ip6tables']) {
    const rules = (await run(iptables, ['-w', '-t', 'nat', '-S']).catch(() => '')).split('\n')
    for (const rule of rules.filter(line => ids.some(id => line.includes(id)))) {
      // Printed as a shell reads it.
      await run('sh', ['-c', `${iptables} -w -t nat ${rule.replace(/^-A /, '-D ')}`])
      const chain = / -j (CNI-DN-\S+)/.exec(rule)?.[1]
      if (chain === undefined) continue
      await run(iptables, ['-w', '-t', 'nat', '-F', chain])
      // It stays as long as another rule leads to it.
      await run(iptables, ['-w', '-t', 'nat', '-X', chain]).catch(() => undefined)
    }
  }
}

/** Later mounts may be on top of earlier ones. */
async function removeMounts(folder: string): Promise<readonly string[]> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n')
  const paths = lines.map(line => line.split(' ')[4] ?? '').filter(path => path.startsWith(`${folder}/`))
  for (const path of paths.toReversed()) await run('umount', ['--lazy', path])
  return paths.map(path => `mount ${path}`)
}

async function removeLoopDevices(folder: string): Promise<readonly string[]> {
  const removed: string[] = []
  for (const name of (await namesIn('/sys/block')).filter(each => each.startsWith('loop'))) {
    const file = await readFile(`/sys/block/${name}/loop/backing_file`, 'utf8').catch(() => '')
    if (!file.startsWith(`${folder}/`)) continue
    await run('losetup', ['--detach', `/dev/${name}`])
    removed.push(`loop device ${name}`)
  }
  return removed
}

async function removeNetworkNamespaces(token: string): Promise<readonly string[]> {
  const names = (await namesIn('/run/netns')).filter(name => name.includes(token))
  for (const name of names) await run('ip', ['netns', 'delete', name])
  return names.map(name => `network namespace ${name}`)
}

/** In every hierarchy of version 1, and in the one of version 2. */
async function removeCgroups(token: string): Promise<readonly string[]> {
  const folders = globSync([`*${token}*`, `*/*${token}*`], { cwd: '/sys/fs/cgroup' })
  for (const folder of folders) await removeCgroup(join('/sys/fs/cgroup', folder))
  return folders.map(folder => `control group ${folder}`)
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => [])
}

async function run(program: string, parameters: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, parameters)
  return stdout
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
