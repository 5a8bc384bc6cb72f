import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failureText, pluginFailureText } from './failure-text.ts'

const cases: readonly [said: string, expected: string][] = [
  ['', 'no output'],
  [
    'time="now" level=warning msg="harmless"\ncontainerd: failed to load TOML: line 3\n',
    'failed to load TOML: line 3',
  ],
  [
    'time="now" level=error msg="cannot serve" error="listen unix \\"x\\": in use"\ntime="now" level=info msg=bye\n',
    'cannot serve: listen unix "x": in use',
  ],
  ['time="now" level=fatal msg=gone\n', 'gone'],
  ['goroutine 1\npanic: nil map\n\ngoroutine 1 [running]:\nmain.go:1\n', 'panic: nil map'],
  ['sh: 1: exec: containerd: not found\n', 'sh: 1: exec: containerd: not found'],
]

test('the reason of a containerd exit is one line of its output', () => {
  for (const [said, expected] of cases) assert.equal(failureText(said), expected)
})

test('the reason of a containerd exit is the first failed plugin', () => {
  const said = [
    'time="now" level=warning msg="failed to load plugin io.containerd.metadata.v1.bolt" error="no space left"',
    'time="now" level=warning msg="failed to load plugin io.containerd.grpc.v1.cri" error="no metadata"',
  ].join('\n')
  assert.equal(pluginFailureText(said), 'failed to load plugin io.containerd.metadata.v1.bolt: no space left')
  assert.equal(pluginFailureText('containerd: something else'), 'something else')
})
