/** Everything that a run needs, found and checked before anything starts. */
import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access, readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { UsageError } from '#/base/flags.ts'
import type { RunRequest } from './request.ts'

export interface Programs {
  readonly suite: string
  /** For example v1.36.4. */
  readonly suiteVersion: string
  /** Absent: there is no Ginkgo, and tests run one after another. */
  readonly ginkgo?: string
  readonly kubectl: string
  /** Archives, by their paths. */
  readonly images: readonly string[]
  /** PATH of the cluster and of the commands that act on it. */
  readonly path: string
  /** Absent when pods are simulated. */
  readonly containerdVersion?: string
}

/** Throws UsageError that says what is missing and what to do about it. */
export async function findPrograms(request: RunRequest, inheritedPath: string): Promise<Programs> {
  const { suite } = request
  await requireExecutable(suite, '--suite')
  const places = [dirname(suite), ...inheritedPath.split(':')].filter(place => place !== '')
  const ginkgo = request.ginkgo ?? (await findIn(places, 'ginkgo'))
  if (ginkgo !== undefined) await requireExecutable(ginkgo, '--ginkgo')
  if (ginkgo !== undefined && !basename(suite).endsWith('.test')) {
    throw new UsageError(`--suite ${suite}: ginkgo runs files that end with .test only; rename it`)
  }
  const kubectl = request.kubectl ?? (await findIn(places, 'kubectl'))
  if (kubectl === undefined) {
    throw new UsageError('no kubectl beside the suite or on the PATH: name one with --kubectl FILE')
  }
  await requireExecutable(kubectl, '--kubectl')
  const path = request.containerd === undefined ? inheritedPath : `${request.containerd}:${inheritedPath}`
  const containerdVersion =
    request.runtime === 'containerd' ? await checkContainers(request, path) : undefined
  return {
    suite,
    suiteVersion: await firstLine(suite, ['--version'], inheritedPath),
    ...(ginkgo !== undefined && { ginkgo }),
    kubectl,
    images: request.images === undefined ? [] : await imageArchives(request.images),
    path,
    ...(containerdVersion !== undefined && { containerdVersion }),
  }
}

async function requireExecutable(path: string, flag: string): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) throw new UsageError(`${flag} ${path}: there is no such file`)
  if (!found.isFile()) throw new UsageError(`${flag} ${path}: not a file`)
  if (!(await isExecutable(path))) throw new UsageError(`${flag} ${path}: not executable; chmod +x ${path}`)
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

async function findIn(folders: readonly string[], name: string): Promise<string | undefined> {
  for (const folder of folders) if (await isExecutable(join(folder, name))) return join(folder, name)
  return undefined
}

/** Resolves with the version of containerd. */
async function checkContainers({ containerd, images }: RunRequest, path: string): Promise<string> {
  if (process.getuid?.() !== 0) throw new UsageError('containers need root: run it with sudo')
  const folders = containerd === undefined ? path.split(':') : [containerd]
  const where = containerd === undefined ? 'on the PATH' : `in --containerd ${containerd}`
  for (const name of ['containerd', 'containerd-shim-runc-v2', 'ctr', 'runc']) {
    if ((await findIn(folders, name)) !== undefined) continue
    throw new UsageError(`no ${name} ${where}: tools/setup installs it on Debian`)
  }
  if (images === undefined) {
    throw new UsageError('--images DIR is missing: a folder with an archive of each image that tests use')
  }
  // containerd github.com/containerd/containerd/v2 v2.1.9 0123456789abcdef
  const said = await firstLine('containerd', ['--version'], path)
  return said.split(' ')[2] ?? said
}

async function imageArchives(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => undefined)
  if (names === undefined) throw new UsageError(`--images ${folder}: there is no such folder`)
  const archives = names.filter(name => name.endsWith('.tar')).sort()
  if (archives.length === 0) throw new UsageError(`--images ${folder}: no image archives (*.tar) in it`)
  return archives.map(name => join(folder, name))
}

async function firstLine(program: string, parameters: readonly string[], path: string): Promise<string> {
  try {
    const options = { env: { ...process.env, PATH: path }, timeout: versionTimeoutMs }
    const { stdout } = await promisify(execFile)(program, parameters, options)
    return stdout.trim().split('\n', 1)[0] ?? ''
  } catch (error) {
    const said = error instanceof Error ? error.message.split('\n', 1)[0] : String(error)
    throw new UsageError(`${program} does not run: ${said}`, { cause: error })
  }
}

const versionTimeoutMs = 60_000
