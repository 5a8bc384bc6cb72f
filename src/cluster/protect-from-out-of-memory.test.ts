import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { protectFromOutOfMemory } from './protect-from-out-of-memory.ts'

const gibi = 1024 ** 3
const root = '/sys/fs/cgroup'

/** What is written on a machine that permits only some of it. */
async function writesOn(
  machine: { readonly cgroupVersion: 1 | 2; readonly memoryBytes: number },
  isPermitted: (path: string) => boolean = () => true,
  limits: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  const writes: string[] = []
  const { log } = new Simulation({ seed: 1 }).host('machine')
  const existing: Readonly<Record<string, string>> = {
    '/proc/self/cgroup': '0::/system.slice/k8ts.service\n',
    [`${root}/system.slice/k8ts.service/memory.max`]: 'max\n',
    [`${root}/system.slice/k8ts.service/cpu.max`]: 'max 100000\n',
    ...limits,
  }
  const read = async (path: string): Promise<Uint8Array> => {
    const content = existing[path]
    if (content === undefined) throw Object.assign(new Error(`no such file: ${path}`), { code: 'ENOENT' })
    return Buffer.from(content)
  }
  const platform = { log, files: { read } }
  const files = {
    makeFolderUnsynced: async (path: string) => void writes.push(path),
    writeInPlace: async (path: string, content: string) => {
      if (!isPermitted(path)) throw Object.assign(new Error('permission denied'), { code: 'EACCES' })
      writes.push(`${path} ${content}`)
    },
  }
  await protectFromOutOfMemory({ platform, linux: { machine, files }, cgroupRoot: '/k8ts-0' })
  return writes.toSorted()
}

const score = '/proc/self/oom_score_adj -999'
const groups = [
  `${root}/cgroup.subtree_control +memory`,
  `${root}/k8ts-0`,
  `${root}/k8ts-0/cgroup.subtree_control +memory`,
  `${root}/k8ts-0/memory.min ${gibi}`,
  `${root}/k8ts-0/system`,
  `${root}/k8ts-0/system/cgroup.procs 0`,
  `${root}/k8ts-0/system/memory.min ${gibi}`,
]

test('k8ts is killed last, and with cgroup v2 its memory is protected', async () => {
  assert.deepEqual(await writesOn({ cgroupVersion: 1, memoryBytes: 64 * gibi }), [score])
  assert.deepEqual(await writesOn({ cgroupVersion: 2, memoryBytes: 64 * gibi }), [score, ...groups])
  const small = await writesOn({ cgroupVersion: 2, memoryBytes: 1_000 })
  assert.ok(small.includes(`${root}/k8ts-0/system/memory.min 100`))
})

test('k8ts stays in a cgroup that limits its memory or CPU', async () => {
  const machine = { cgroupVersion: 2, memoryBytes: 64 * gibi } as const
  const limits: readonly Readonly<Record<string, string>>[] = [
    { [`${root}/system.slice/memory.max`]: '1073741824\n' },
    { [`${root}/system.slice/k8ts.service/cpu.max`]: '50000 100000\n' },
  ]
  for (const limit of limits) assert.deepEqual(await writesOn(machine, () => true, limit), [score])
})

test('k8ts runs without protection where it is not permitted', async () => {
  const machine = { cgroupVersion: 2, memoryBytes: 64 * gibi } as const
  assert.deepEqual(await writesOn(machine, path => !path.startsWith('/proc')), groups)
  assert.deepEqual(await writesOn(machine, path => path.startsWith('/proc')), [score])
})
