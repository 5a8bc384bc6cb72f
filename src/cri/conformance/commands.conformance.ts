import assert from 'node:assert/strict'
import type { CommandProcess } from '#/streams/streams.ts'
import type { Check } from '../cri.conformance.ts'
import { refuses, start, type Scene } from './test-scene.ts'

export function commandsConformance(check: Check): void {
  check('execSync returns the output and the exit code of a command', async scene => {
    const id = await start(await scene.pod(), 'deaf')
    const result = await scene.runtime.execSync({
      containerId: id,
      command: ['sh', '-c', 'echo one; echo two >&2; exit 4'],
      timeoutMs: 60_000,
    })
    assert.deepEqual([text(result.stdout), text(result.stderr), result.exitCode], ['one\n', 'two\n', 4])
    const quiet = await scene.runtime.execSync({ containerId: id, command: ['true'], timeoutMs: 0 })
    assert.deepEqual([text(quiet.stdout), text(quiet.stderr), quiet.exitCode], ['', '', 0])
  })

  check('execSync fails when a command exceeds its timeout', async scene => {
    const id = await start(await scene.pod(), 'deaf')
    await refuses(
      scene.runtime.execSync({ containerId: id, command: ['sleep', '100000'], timeoutMs: 1_000 }),
      'timeout',
    )
    await refuses(
      scene.runtime.execSync({ containerId: id, command: ['sleep', '100000'], timeoutMs: 200 }),
      'timeout',
    )
  })

  check('execSync fails for a missing program and in a container that has exited', async scene => {
    const { runtime } = scene
    const id = await start(await scene.pod(), 'deaf')
    await refuses(
      runtime.execSync({ containerId: id, command: ['/no/such/program'], timeoutMs: 60_000 }),
      'failed',
    )
    await runtime.stopContainer(id, 0)
    await refuses(runtime.execSync({ containerId: id, command: ['true'], timeoutMs: 60_000 }), 'failed')
    await refuses(runtime.exec({ containerId: id, command: ['true'], ...output }), 'failed')
  })

  check('exec streams stdout and stderr and reports the exit code', async scene => {
    const id = await start(await scene.pod(), 'deaf')
    await using process = await scene.runtime.exec({
      containerId: id,
      command: ['sh', '-c', 'echo one; echo two >&2; exit 4'],
      ...output,
    })
    assert.deepEqual(await outcome(process), ['one\n', 'two\n', { type: 'exited', code: 4 }])
    await using quiet = await scene.runtime.exec({ containerId: id, command: ['true'], ...output })
    assert.deepEqual(await outcome(quiet), ['', '', { type: 'exited', code: 0 }])
  })

  check('exec passes stdin to the command until stdin is closed', async scene => {
    const id = await start(await scene.pod(), 'deaf')
    const streams = { ...output, stdin: true }
    await using process = await scene.runtime.exec({
      containerId: id,
      command: ['sh', '-c', 'cat; echo done; exit 7'],
      ...streams,
    })
    await process.writeStdin(Buffer.from('first\n'))
    await process.writeStdin(Buffer.from('second\n'))
    process.endStdin()
    const expected = ['first\nsecond\ndone\n', '', { type: 'exited', code: 7 }]
    assert.deepEqual(await outcome(process), expected)
  })

  check('exec transfers a large stdin and stdout without loss', async scene => {
    const id = await start(await scene.pod(), 'deaf')
    await using process = await scene.runtime.exec({
      containerId: id,
      command: ['cat'],
      ...output,
      stdin: true,
    })
    const block = Buffer.alloc(64 * 1_024, 'abcdefgh')
    const write = async (): Promise<void> => {
      for (let count = 0; count < 32; count++) await process.writeStdin(block)
      process.endStdin()
    }
    const [[stdout, stderr, result]] = await Promise.all([outcome(process), write()])
    assert.equal(stdout.length, 32 * block.length)
    assert.ok(stdout === block.toString().repeat(32))
    assert.deepEqual([stderr, result], ['', { type: 'exited', code: 0 }])
  })

  check('several exec sessions run concurrently in one container', async scene => {
    const id = await start(await scene.pod(), 'deaf')
    const codes = [1, 2, 3, 4, 5]
    const results = await Promise.all(
      codes.map(async code => {
        await using process = await scene.runtime.exec({
          containerId: id,
          command: ['sh', '-c', `echo ${code}; exit ${code}`],
          ...output,
        })
        // Awaited before returning: otherwise the process would be disposed of first.
        const result = await outcome(process)
        return result
      }),
    )
    assert.deepEqual(
      results,
      codes.map(code => [`${code}\n`, '', { type: 'exited', code }]),
    )
  })

  check('attach streams the output of the main process and passes stdin to it', async scene => {
    const { runtime } = scene
    const id = await start(await scene.pod(), 'copier', { stdin: true, stdinOnce: true })
    await using process = await runtime.attach(id, { ...output, stdin: true })
    await process.writeStdin(Buffer.from('hello\n'))
    const heard = process.stdout[Symbol.asyncIterator]()
    assert.equal(text((await heard.next()).value), 'hello\n')
    process.endStdin()
    assert.equal((await heard.next()).done, true)
    await process.result
  })

  check('port-forward reaches a listening port of the pod and fails for a closed one', async scene => {
    const pod = await scene.pod()
    await start(pod, 'server')
    assert.equal(await echo(scene, pod.sandboxId, 8_080), 'hello')
    assert.equal(await echo(scene, pod.sandboxId, 8_081), undefined)
  })
}

const output = { stdin: false, stdout: true, stderr: true, tty: false }

function text(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? []).toString()
}

async function outcome(process: CommandProcess) {
  const [stdout, stderr, result] = await Promise.all([
    Array.fromAsync(process.stdout),
    Array.fromAsync(process.stderr),
    process.result,
  ])
  return [Buffer.concat(stdout).toString(), Buffer.concat(stderr).toString(), result] as const
}

/** Data echoed by the server; retries until the server listens. Undefined when the connection is refused. */
async function echo(
  { runtime, subject }: Scene,
  sandboxId: string,
  port: number,
): Promise<string | undefined> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    try {
      const connection = await runtime.portForward(sandboxId, port)
      connection.write('hello')
      for await (const chunk of connection) {
        connection.destroy()
        return Buffer.from(chunk as Uint8Array).toString()
      }
    } catch {
      // Not listening yet, or not at all.
    }
    await subject.platform.clock.sleep(50)
  }
  return undefined
}

/** Enough attempts for any server to start listening. */
const attemptsMax = 40
