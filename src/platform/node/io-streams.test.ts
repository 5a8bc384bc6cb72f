import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { test } from 'node:test'

const source = new URL('./io-streams.ts', import.meta.url).href
const hasScript = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0
const needsTerminal = { skip: !hasScript && 'needs script of util-linux' }

interface Run {
  /** What the program reads, step by step: each is written when the output contains the text before it. */
  readonly input?: readonly (string | { readonly after: string })[]
  readonly inTerminal?: boolean
  /** Runs the program by this shell command, in which `$PROGRAM` is its command line. */
  readonly shell?: string
}

interface Ran {
  readonly stdout: string
  readonly stderr: string
  readonly status: number | null
}

/** Runs a program with `io` in a process of its own. */
async function run(
  program: string,
  { input = [], inTerminal = false, shell = '$PROGRAM' }: Run = {},
): Promise<Ran> {
  const script = `const { nodeIOStreams } = await import('${source}'); const io = nodeIOStreams(); ${program}`
  const environment = { ...process.env, SCRIPT: script, NODE: process.execPath }
  const line = shell.replaceAll('$PROGRAM', '"$NODE" --input-type=module -e "$SCRIPT"')
  const [name, ...parameters] = inTerminal ? ['script', '-qec', line, '/dev/null'] : ['sh', '-c', line]
  const child = spawn(name, parameters, { env: { ...environment, SHELL: '/bin/sh' } })
  let stdout = ''
  let stderr = ''
  const steps = [...input]
  const advance = (): void => {
    for (let step = steps[0]; step !== undefined; step = steps[0]) {
      if (typeof step === 'string') child.stdin.write(step)
      else if (!stdout.includes(step.after)) return
      steps.shift()
    }
    if (!inTerminal) child.stdin.end()
  }
  child.stdout.on('data', piece => {
    stdout += String(piece)
    advance()
  })
  child.stderr.on('data', piece => {
    stderr += String(piece)
  })
  child.stdin.on('error', () => undefined)
  advance()
  const status = await new Promise<number | null>(resolve => void child.once('close', resolve))
  return { stdout, stderr, status }
}

test('lines and the rest of the input are read in order, and output goes to both streams', async () => {
  const program = `
    io.write(await io.stdin.readLine({ prompt: 'name: ' }) + ',' + await io.stdin.readLine({ echo: false }) + ',')
    for await (const piece of io.stdin.bytes()) io.write(piece)
    io.writeError(String([io.stdin, io.stdout, io.stderr].map(each => each.isTerminal)))
    io.write(',' + await io.stdin.readLine() + ',' + io.stdout.size())
    for await (const size of io.stdout.sizes(new AbortController().signal)) io.write(size)
    await io.stdout.drained()`
  assert.deepEqual(await run(program, { input: ['one\r\ntwo\nthr', 'ee\nfour'] }), {
    stdout: 'name: one,two,three\nfour,undefined,undefined',
    stderr: 'false,false,false',
    status: 0,
  })
})

test('an aborted read ends without an error, and the input remains for the next one', async () => {
  const program = `
    const signal = AbortSignal.timeout(1)
    for await (const piece of io.stdin.bytes(signal)) io.write('never')
    io.write('aborted,')
    io.write(await io.stdin.readLine())`
  const { stdout } = await run(program, { input: [{ after: 'aborted' }, 'next\n'] })
  assert.equal(stdout, 'aborted,next')
})

test('a reader of the output that ends early ends the process by SIGPIPE, also when much is buffered', async () => {
  const program = `
    process.once('exit', () => io.writeError('must not exit'))
    for (;;) { io.write('x'.repeat(100_000) + '\\n'); await io.stdout.drained() }`
  const shell = '{ $PROGRAM; echo $? >&2; } | head -c 3'
  assert.deepEqual(await run(program, { shell }), { stdout: 'xxx', stderr: '141\n', status: 0 })
})

test('output that cannot be written is an error', async () => {
  const program = `io.write('x'); await io.stdout.flushed()`
  const { status, stderr } = await run(program, { shell: '$PROGRAM > /dev/full' })
  assert.equal(status, 1)
  assert.match(stderr, /ENOSPC/)
})

test('a program in the foreground shares the standard streams, and its output can be captured', async () => {
  const program = `
    const shared = await io.runInteractive(['sh', '-c', 'read a; echo "$a $GREETING"; echo b >&2; exit 3'],
      { environment: { GREETING: 'hello' } })
    const captured = await io.runInteractive(['sh', '-c', 'cat; pwd'],
      { input: 'nothing', folder: '/', capture: { sizeBytesMax: 100 } })
    const killed = await io.runInteractive(['sh', '-c', 'kill -TERM $$'])
    const large = await io.runInteractive(['yes'], { capture: { sizeBytesMax: 10 } }).catch(error => error.message)
    const missing = await io.runInteractive(['/no/such/program']).catch(error => error.code)
    io.write([shared.status, captured.output, killed.status, killed.exit.signal, large, missing].join())`
  assert.deepEqual(await run(program, { input: ['line\n'] }), {
    stdout: 'line hello\n3,/\n,143,SIGTERM,the output of yes exceeds 10 bytes,ENOENT',
    stderr: 'b\n',
    status: 0,
  })
})

test('signals are passed to the program in the foreground', async () => {
  const program = `
    const child = "trap 'echo got TERM; exit 4' TERM; kill -TERM $PPID; while :; do sleep 0.01; done"
    process.exitCode = (await io.runInteractive(['sh', '-c', child])).status`
  const { stdout, status } = await run(program)
  assert.deepEqual([stdout, status], ['got TERM\n', 4])
})

test('the first SIGINT aborts, the second ends the process', async () => {
  const program = `
    const signal = io.interrupted()
    process.kill(process.pid, 'SIGINT')
    const alive = setInterval(() => undefined, 1_000)
    await new Promise(resolve => signal.addEventListener('abort', resolve))
    io.write('aborted')
    process.kill(process.pid, 'SIGINT')`
  const { stdout, stderr } = await run(program, { shell: '$PROGRAM; echo $? >&2' })
  assert.deepEqual([stdout, stderr.trim()], ['aborted', '130'])
})

test('a terminal has a size, whose changes are seen', needsTerminal, async () => {
  const program = `
    const ended = new AbortController()
    io.write(String([io.stdin, io.stdout, io.stderr].map(each => each.isTerminal)) + ';')
    for await (const { columns, rows } of io.stdout.sizes(ended.signal)) {
      io.write(columns + 'x' + rows + ';')
      if (columns === 132) ended.abort()
      else await io.runInteractive(['stty', 'cols', '132', 'rows', '50'])
    }`
  const { stdout } = await run(program, { inTerminal: true, shell: 'stty cols 80 rows 24; $PROGRAM' })
  assert.equal(stdout, 'true,true,true;80x24;132x50;')
})

test(
  'raw mode reads single keys without echo and signals, and leaves the output as it is',
  needsTerminal,
  async () => {
    const program = `
    const raw = io.raw()
    io.write('raw\\n')
    for await (const piece of io.stdin.bytes()) { io.write(Buffer.from(piece).toString('hex')); break }
    raw[Symbol.dispose]()
    io.write('\\n')`
    const shell =
      'stty -a > /dev/null; before=$(stty -g); $PROGRAM; [ "$before" = "$(stty -g)" ] && echo same'
    const { stdout } = await run(program, { inTerminal: true, shell, input: [{ after: 'raw' }, '\u0003'] })
    assert.equal(stdout, 'raw\n03\r\nsame\r\n')
  },
)

test('the mode of the terminal is restored when the process ends in any way', needsTerminal, async () => {
  const restored = 'before=$(stty -g); $PROGRAM; [ "$before" = "$(stty -g)" ] && echo same'
  for (const end of [
    'process.exit(3)',
    'throw new Error("crash")',
    ...['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'].map(name => `process.kill(process.pid, '${name}')`),
  ]) {
    const program = `io.raw(); setInterval(() => undefined, 1_000); setImmediate(() => { ${end} })`
    const { stdout } = await run(program, { inTerminal: true, shell: restored })
    assert.ok(stdout.endsWith('same\r\n'), `${end}: ${stdout}`)
  }
})

test('a password is read without echo', needsTerminal, async () => {
  const program = `
    const password = await io.stdin.readLine({ prompt: 'Password: ', echo: false })
    io.write('got ' + password.length + '\\n')
    io.write('then ' + await io.stdin.readLine({ prompt: 'Name: ' }) + '\\n')`
  const input = [{ after: 'Password: ' }, 'secret\n', { after: 'Name: ' }, 'me\n']
  const { stdout } = await run(program, { inTerminal: true, input })
  assert.equal(stdout, 'Password: got 6\r\nName: me\r\nthen me\r\n')
})
