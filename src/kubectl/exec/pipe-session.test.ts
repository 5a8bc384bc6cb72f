import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CommandProcess, CommandResult } from '#/streams/streams.ts'
import { pipeSession } from './pipe-session.ts'

async function* pieces(...texts: string[]): AsyncGenerator<Uint8Array, void, undefined> {
  for (const text of texts) yield Buffer.from(text)
}

async function* broken(): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from('part')
  throw new Error('the connection broke')
}

interface Process extends CommandProcess {
  readonly written: string[]
}

function processOf(
  output: AsyncIterable<Uint8Array>,
  result: Promise<CommandResult>,
  onEnd = (): void => undefined,
): Process {
  const written: string[] = []
  return {
    written,
    stdout: output,
    stderr: pieces('error'),
    writeStdin: async bytes => void written.push(Buffer.from(bytes).toString()),
    endStdin: () => {
      written.push('end')
      onEnd()
    },
    resize: () => undefined,
    result,
    [Symbol.asyncDispose]: async () => undefined,
  }
}

const exited: CommandResult = { type: 'exited', code: 3 }

test('a session copies the streams until the process has ended', async () => {
  const ended = Promise.withResolvers<CommandResult>()
  const process = processOf(pieces('a', 'b'), ended.promise, () => ended.resolve(exited))
  const printed: string[] = []
  const result = pipeSession(process, {
    stdin: () => pieces('x', 'y'),
    onStdout: bytes => void printed.push(Buffer.from(bytes).toString()),
    onStderr: bytes => void printed.push(Buffer.from(bytes).toString()),
  })
  assert.deepEqual(await result, exited)
  assert.deepEqual(process.written, ['x', 'y', 'end'])
  assert.deepEqual(printed.sort(), ['a', 'b', 'error'])
})

test('reading the input is aborted at the end of the process', async () => {
  let signal: AbortSignal | undefined
  await pipeSession(processOf(pieces(), Promise.resolve(exited)), {
    stdin: async function* (given) {
      signal = given
      await new Promise(resolve => given.addEventListener('abort', resolve))
      yield new Uint8Array()
      throw new Error('the process has ended')
    },
    onStdout: () => undefined,
    onStderr: () => undefined,
  })
  assert.equal(signal?.aborted, true)
})

test('a broken connection is told by the result, a failure of a pipe rejects', async () => {
  const failed: CommandResult = { type: 'failed', message: 'lost' }
  const nothing = { onStdout: () => undefined, onStderr: () => undefined }
  assert.deepEqual(await pipeSession(processOf(broken(), Promise.resolve(failed)), nothing), failed)
  const never = new Promise<CommandResult>(() => undefined)
  const onStdout = (): never => {
    throw new Error('disk full')
  }
  await assert.rejects(pipeSession(processOf(pieces('a'), never), { ...nothing, onStdout }), /disk full/)
  const input = { ...nothing, stdin: broken }
  await assert.rejects(pipeSession(processOf(pieces(), never), input), /the connection broke/)
})
