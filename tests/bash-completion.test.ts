import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const kubectl = fileURLToPath(new URL('../kubectl', import.meta.url))

/** Loads the script and completes lines as bash does: words end at spaces, = and :. */
const harness = `
kubectl() { '${kubectl}' "$@"; }
source <(kubectl completion bash)
while IFS= read -r line; do
  COMP_LINE=$line
  read -ra COMP_WORDS <<<"\${line//=/ = }"
  [[ $line == *' ' || $line == *= ]] && COMP_WORDS+=("")
  COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
  __kubectl_complete
  echo "\${COMPREPLY[*]}"
done
`

test('bash completes commands, flags and their values', async () => {
  const expected: Readonly<Record<string, string>> = {
    'kubectl rollout s': 'status',
    'kubectl completion ': 'bash zsh fish powershell',
    'kubectl -n shop rollout res': 'restart resume',
    'kubectl get pods --out': '--output --output-watch-events',
    'kubectl get pods -o jsonpath-': 'jsonpath-as-json jsonpath-file',
    'kubectl get pods --output=jsonpath-': 'jsonpath-as-json jsonpath-file',
    'kubectl delete pods --cascade=': 'background orphan foreground',
    'kubectl bogus x ': '',
  }
  const running = promisify(execFile)('bash', ['--norc', '-c', harness], {
    env: { ...process.env, HOME: '/nonexistent', KUBECONFIG: '/nonexistent' },
  })
  running.child.stdin?.end(`${Object.keys(expected).join('\n')}\n`)
  const { stdout, stderr } = await running
  assert.equal(stderr, '')
  assert.deepEqual(stdout.trimEnd().split('\n'), Object.values(expected).join('\n').trimEnd().split('\n'))
})
