import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tar, type TarEntry } from '#/base/tar.ts'
import { readTar } from '#/base/read-tar.ts'
import type { Files } from '#/platform/platform.ts'
import { Simulation } from '#/platform/simulated.ts'
import type { CommandProcess, CommandResult } from '#/streams/streams.ts'
import { copyFromPod } from './copy-from-pod.ts'
import { localArchive } from './local-archive.ts'

interface Output {
  readonly bytes: Uint8Array
  readonly result: CommandResult
}

const succeeded: CommandResult = { type: 'exited', code: 0 }

function processOf({ bytes, result }: Output): CommandProcess {
  async function* pieces(content: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
    for (let at = 0; at < content.length; at += 300) yield content.subarray(at, at + 300)
  }
  return {
    stdout: pieces(bytes),
    stderr: pieces(Buffer.from('')),
    writeStdin: async () => undefined,
    endStdin: () => undefined,
    resize: () => undefined,
    result: Promise.resolve(result),
    [Symbol.asyncDispose]: async () => undefined,
  }
}

interface Copied {
  readonly files: Files
  readonly printed: string
  readonly commands: readonly string[]
  readonly error: string | undefined
}

async function withFiles(use: (files: Files) => Promise<void>): Promise<void> {
  const simulation = new Simulation({ seed: 1 })
  await simulation.run(use(simulation.host('a').files))
}

/** Copies `/src` of a pod to `/out`; `outputs` are what tar returns at each attempt. */
async function copy(outputs: readonly Output[], check: (copied: Copied) => Promise<void>): Promise<void> {
  await withFiles(async files => {
    const commands: string[] = []
    let printed = ''
    const print = (output: string | Uint8Array): void => {
      printed += typeof output === 'string' ? output : Buffer.from(output).toString()
    }
    let error: string | undefined
    try {
      await copyFromPod({
        files,
        workingFolder: '/',
        streams: { write: print, writeError: print },
        source: '/src',
        destination: '/out',
        retriesMax: outputs.length - 1,
        alternative: 'other',
        shell: {
          start: async ({ command }) => {
            commands.push(command.join(' '))
            return processOf(outputs[commands.length - 1]!)
          },
          check: result => {
            if (result.type === 'failed') throw new Error(result.message)
            if (result.code !== 0) throw new Error(`exit code ${result.code}`)
          },
        },
      })
    } catch (thrown) {
      error = (thrown as Error).message
    }
    await check({ files, printed, commands, error })
  })
}

function archive(...entries: readonly TarEntry[]): Output {
  return { bytes: tar(entries), result: succeeded }
}

async function readText(files: Files, path: string): Promise<string> {
  return Buffer.from(await files.read(path)).toString()
}

test('files and folders are created below the destination', async () => {
  const entries: TarEntry[] = [
    { type: 'folder', path: 'src/empty' },
    { type: 'file', path: 'src/a/b', content: Buffer.from('text') },
  ]
  await copy([archive(...entries)], async ({ files, printed, commands, error }) => {
    assert.deepEqual([error, printed, commands], [undefined, '', ['tar cf - /src']])
    assert.equal(await readText(files, '/out/a/b'), 'text')
    assert.equal((await files.stat('/out/empty'))?.isFolder, true)
  })
})

test('of a hostile archive nothing but files and folders below the destination is created', async () => {
  const device: TarEntry = { type: 'file', path: 'src/device', content: new Uint8Array() }
  const bytes = Buffer.from(tar([device]))
  bytes.write('3', 156)
  bytes.write(' '.repeat(8), 148)
  const sum = bytes.subarray(0, 512).reduce((total, byte) => total + byte, 0)
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  const others = tar([
    { type: 'symlink', path: 'src/link', target: '/etc' },
    { type: 'file', path: 'src/link/passwd', content: Buffer.from('in a folder') },
    { type: 'link', path: 'src/hard', target: '/etc/passwd' },
    { type: 'file', path: 'src/../../etc/passwd', content: Buffer.from('bad') },
    { type: 'symlink', path: 'src/second', target: 'x' },
  ])
  const all = Buffer.concat([bytes.subarray(0, 512), others])
  await copy([{ bytes: all, result: succeeded }], async ({ files, printed, error }) => {
    assert.equal(error, undefined)
    assert.deepEqual(printed.trim().split('\n'), [
      'warning: skipping "/out/device": neither a file nor a folder',
      'warning: skipping symlink: "/out/link" -> "/etc" (consider using "other")',
      'warning: skipping hard link: "/out/hard" -> "/etc/passwd"',
      'warning: file "/etc/passwd" is outside target destination, skipping',
      'warning: skipping symlink: "/out/second" -> "x"',
    ])
    assert.deepEqual(await files.list('/out'), ['link'])
    assert.equal(await readText(files, '/out/link/passwd'), 'in a folder')
    assert.equal(await files.stat('/etc'), undefined)
  })
})

test('an archive of other files is refused', async () => {
  const file: TarEntry = { type: 'file', path: 'other', content: new Uint8Array() }
  await copy([archive(file)], async ({ error }) => assert.equal(error, 'tar contents corrupted'))
})

test('an interrupted copy is resumed where it ended', async () => {
  const content = Buffer.from('0123456789'.repeat(200))
  const whole = tar([{ type: 'file', path: 'src', content }])
  const broken: CommandResult = { type: 'failed', message: 'lost' }
  const outputs = [
    { bytes: whole.subarray(0, 700), result: broken },
    { bytes: whole.subarray(700, 1_500), result: succeeded },
    { bytes: whole.subarray(1_500), result: succeeded },
  ]
  await copy(outputs, async ({ files, printed, commands, error }) => {
    assert.equal(error, undefined)
    assert.equal(await readText(files, '/out'), content.toString())
    assert.deepEqual(commands, [
      "sh -c tar cf - '/src' | tail -c+0",
      "sh -c tar cf - '/src' | tail -c+701",
      "sh -c tar cf - '/src' | tail -c+1501",
    ])
    assert.match(
      printed,
      /^Resuming copy at 700 bytes, retry 1\/2\nResuming copy at 1500 bytes, retry 2\/2\n$/,
    )
  })
})

test('a failure of tar or of the connection is an error', async () => {
  const half = tar([{ type: 'file', path: 'src', content: Buffer.from('a'.repeat(2_000)) }]).subarray(0, 900)
  const check = async (output: Output, expected: string): Promise<void> => {
    await copy([output], async ({ error }) => assert.equal(error, expected))
  }
  await check({ bytes: half, result: succeeded }, 'unexpected EOF')
  await check({ bytes: half, result: { type: 'failed', message: 'lost' } }, 'lost')
  await check({ bytes: new Uint8Array(), result: { type: 'exited', code: 2 } }, 'exit code 2')
  await check({ bytes: tar([]), result: { type: 'exited', code: 2 } }, 'exit code 2')
})

test('an archive of local files has files, and folders only if they are empty', async () => {
  await withFiles(async files => {
    await files.makeFolder('/from/empty')
    await files.makeFolder('/from/b')
    await files.write('/from/b/c', 'x'.repeat(600_000))
    await files.write('/from/a', '')
    const found: string[] = []
    for await (const { type, path, content } of readTar(
      localArchive({ files, source: '/from', name: 'to' }),
    )) {
      let sizeBytes = 0
      for await (const piece of content) sizeBytes += piece.length
      found.push(`${type} ${path} ${sizeBytes}`)
    }
    assert.deepEqual(found, ['file to/a 0', 'file to/b/c 600000', 'folder to/empty/ 0'])
  })
})
