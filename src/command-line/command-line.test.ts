import assert from 'node:assert/strict'
import { test } from 'node:test'
import { boolFlag, parseFlags } from '#/base/flags.ts'
import { runCommandLine, type CommandTable } from './command-line.ts'

const loaded: string[] = []

function entry(
  name: string,
  summary: string,
  run: (parameters: readonly string[]) => number,
): CommandTable[string] {
  return {
    summary,
    load: async () => {
      loaded.push(name)
      return { command: { help: `Usage: k8ts ${name}\n`, run: async parameters => run(parameters) } }
    },
  }
}

const commands: CommandTable = {
  go: entry('go', 'Start something', parameters => {
    parseFlags(parameters, { fast: boolFlag('fast') })
    return 0
  }),
  kubectl: entry('kubectl', 'Be kubectl', parameters => parameters.length),
  broken: entry('broken', 'Fail', () => {
    throw new Error('the disk is full')
  }),
}

/** Runs a command line; returns the exit code, stdout and stderr. */
async function run(line: string) {
  let written = ''
  let complained = ''
  loaded.length = 0
  const code = await runCommandLine(
    commands,
    line.split(' ').filter(word => word !== ''),
    {
      write: text => {
        written += text
      },
      writeError: text => {
        complained += text
      },
    },
  )
  return { code, written, complained }
}

test('without a command, and with --help, the commands are listed and none is loaded', async () => {
  for (const line of ['', '--help', '-h', '--help go']) {
    const { code, written, complained } = await run(line)
    assert.equal(code, 0)
    assert.equal(complained, '')
    assert.match(written, /\n {2}go {7}Start something\n {2}kubectl {2}Be kubectl\n/)
    assert.deepEqual(loaded, [])
  }
})

test('an unknown command is named and exits with 2', async () => {
  for (const name of ['up', 'constructor', '__proto__', 'toString', '--fast']) {
    const { code, written, complained } = await run(name)
    assert.equal(code, 2)
    assert.equal(written, '')
    const what = name.startsWith('-') ? 'option' : 'command'
    assert.equal(complained, `k8ts: unknown ${what} "${name}"; see k8ts --help\n`)
  }
})

test('--help after a command shows its help without running it', async () => {
  assert.deepEqual(await run('broken --help'), { code: 0, written: 'Usage: k8ts broken\n', complained: '' })
})

test('a command gets all parameters after its name, and its exit code is returned', async () => {
  assert.deepEqual(await run('kubectl get pods --help'), { code: 3, written: '', complained: '' })
  assert.deepEqual(loaded, ['kubectl'])
})

test('an unknown flag exits with 2 and a hint', async () => {
  assert.equal((await run('go --fast')).code, 0)
  const { code, complained } = await run('go --slow')
  assert.equal(code, 2)
  assert.match(complained, /^k8ts go: unknown flag: --slow\nSee k8ts go --help\n$/)
})

test('other errors are not usage errors', async () => {
  await assert.rejects(run('broken'), /the disk is full/)
})
