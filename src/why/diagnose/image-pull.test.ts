import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explainPull } from './image-pull.ts'

interface Case {
  readonly reason?: string
  readonly message: string
  readonly text: string
  readonly isDenied?: boolean
}

function check({ reason = 'ErrImagePull', message, text, isDenied = false }: Case): void {
  assert.deepEqual(explainPull(reason, message), { text, isDenied })
}

const wrapped =
  'Failed to pull image "a:1": rpc error: code = Unknown desc = failed to pull and unpack image ' +
  '"docker.io/library/a:1": failed to resolve reference "docker.io/library/a:1": '

test('the problem of an image is what the registry says, without the messages around it', () => {
  check({
    message: `${wrapped}docker.io/library/a:1: not found`,
    text: 'cannot be pulled: the registry does not have it (docker.io/library/a:1: not found)',
  })
  check({
    message: `${wrapped}pull access denied, repository does not exist or may require authorization`,
    text:
      'cannot be pulled: the registry denies access ' +
      '(pull access denied, repository does not exist or may require authorization)',
    isDenied: true,
  })
  check({
    message: `${wrapped}failed to do request: dial tcp 10.0.0.1:4030: connect: connection refused`,
    text:
      'cannot be pulled: the registry cannot be reached ' +
      '(dial tcp 10.0.0.1:4030: connect: connection refused)',
  })
  check({
    message:
      'Failed to pull image "A": failed to parse image reference "A": invalid reference format: lowercase.',
    text: 'is not a valid name of an image (invalid reference format: lowercase)',
  })
  check({
    reason: 'ErrImageNeverPull',
    message: 'x',
    text: 'is not on the node, and imagePullPolicy is Never',
  })
  check({ reason: 'ImagePullBackOff', message: 'Back-off pulling image "a:1"', text: 'cannot be pulled' })
  check({ message: `${wrapped}no space left on device`, text: 'cannot be pulled: no space left on device' })
})
