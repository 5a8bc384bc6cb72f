/** What was tested, and on which machine. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { availableParallelism, release, totalmem, type } from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import manifest from '../../package.json' with { type: 'json' }
import type { Machine, Results } from './results.ts'

export async function describeMachine(): Promise<Machine> {
  const osRelease = await readFile('/etc/os-release', 'utf8').catch(() => '')
  return {
    os: /^PRETTY_NAME="?([^"\n]*)/m.exec(osRelease)?.[1] ?? type(),
    kernel: release(),
    cores: availableParallelism(),
    memoryBytes: totalmem(),
  }
}

export async function describeBuild(): Promise<Results['k8ts']> {
  const { version } = manifest
  const commit = await git('rev-parse', 'HEAD')
  if (commit === undefined) return { version, isModified: false }
  return { version, commit, isModified: (await git('status', '--porcelain')) !== '' }
}

async function git(...words: readonly string[]): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('git', words, { cwd: root })
    return stdout.trim()
  } catch {
    return undefined
  }
}

const root = fileURLToPath(new URL('../..', import.meta.url))
