import { posix, resolve } from 'node:path'
import { pipeSession } from '../exec/pipe-session.ts'
import type { Factory } from '../factory.ts'
import { cleanPath, joinPaths } from './file-spec.ts'
import { localArchive } from './local-archive.ts'
import type { PodShell } from './pod-shell.ts'

export interface CopyToPodOptions {
  readonly shell: PodShell
  readonly source: string
  readonly destination: string
  /** The files belong to the user of the container, with its usual modes. */
  readonly noPreserve: boolean
}

/** Copies a local file or folder into a container with its tar. Throws Error. */
export async function copyToPod(factory: Factory, options: CopyToPodOptions): Promise<void> {
  const { platform, streams, workingFolder } = factory.machine
  const { shell, source, destination, noPreserve } = options
  const path = resolve(workingFolder, source)
  if ((await platform.files.stat(path)) === undefined) {
    throw new Error(`${source} doesn't exist in local filesystem`)
  }
  const isFolder = await isFolderInPod(factory, shell, destination)
  const target = isFolder ? joinPaths(destination, posix.basename(cleanPath(source))) : destination
  const folder = posix.dirname(target)
  const process = await shell.start({
    command: [
      'tar',
      ...(noPreserve ? ['--no-same-permissions', '--no-same-owner'] : []),
      '-xmf',
      '-',
      ...(folder === '' ? [] : ['-C', folder]),
    ],
    stdin: true,
    warn: text => streams.stderr.write(`${text}\n`),
  })
  await using _ = process
  const name = posix.basename(cleanPath(target))
  const result = await pipeSession(process, {
    stdin: () => localArchive({ files: platform.files, source: path, name }),
    onStdout: async bytes => {
      streams.stdout.write(bytes)
      await streams.stdout.drained()
    },
    onStderr: bytes => streams.stderr.write(bytes),
  })
  shell.check(result)
}

const testTimeoutMs = 30_000

/** False if it cannot be found out: the copy then reports why. */
async function isFolderInPod({ machine }: Factory, shell: PodShell, path: string): Promise<boolean> {
  const { clock } = machine.platform
  const late = new AbortController()
  const timer = clock.setTimer(testTimeoutMs, () => late.abort(new Error('context deadline exceeded')))
  const nothing = (): void => undefined
  try {
    const command = ['test', '-d', path]
    await using process = await shell.start({ command, stdin: false, warn: nothing, signal: late.signal })
    late.signal.addEventListener('abort', () => void process[Symbol.asyncDispose]())
    const result = await pipeSession(process, { onStdout: nothing, onStderr: nothing })
    return result.type === 'exited' && result.code === 0
  } catch {
    return false
  } finally {
    timer.cancel()
    late.signal.throwIfAborted()
  }
}
