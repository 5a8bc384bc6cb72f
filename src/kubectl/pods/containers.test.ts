import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod } from '#/api/generated/core/v1.ts'
import { chooseContainer, defaultContainerAnnotation } from './containers.ts'

function podOf(
  annotation: string | undefined,
  ...[containers = [], init = [], ephemeral = []]: string[][]
): Pod {
  const list = (names: readonly string[]) => names.map(name => ({ name, image: 'i' }))
  return {
    metadata: {
      name: 'p',
      namespace: 'n',
      ...(annotation && { annotations: { [defaultContainerAnnotation]: annotation } }),
    },
    spec: { containers: list(containers), initContainers: list(init), ephemeralContainers: list(ephemeral) },
  }
}

test('a container is chosen by name, by annotation, or as the first one', () => {
  const check = (pod: Pod, name: string | undefined, expected: string): void => {
    let warning = ''
    const warn = (text: string): void => {
      warning = `; ${text}`
    }
    const { container, list } = chooseContainer(pod, { name, warn })
    assert.equal(`${list} ${container.name}${warning}`, expected)
  }
  check(podOf(undefined, ['a']), undefined, 'containers a')
  check(podOf(undefined, ['a', 'b']), 'b', 'containers b')
  check(podOf('b', ['a', 'b']), undefined, 'containers b')
  check(podOf('b', ['a', 'b']), 'a', 'containers a')
  check(podOf(undefined, ['a'], ['i'], ['e']), 'i', 'initContainers i')
  check(podOf(undefined, ['a'], ['i'], ['e']), 'e', 'ephemeralContainers e')
  check(
    podOf(undefined, ['a', 'b'], ['i'], ['e']),
    undefined,
    'containers a; Defaulted container "a" out of: a, b, e (ephem), i (init)',
  )
})

test('a container that does not exist is an error that names those that do', () => {
  const refuse = (pod: Pod, name: string | undefined, message: string): void => {
    assert.throws(() => chooseContainer(pod, { name, warn: () => undefined }), { message })
  }
  refuse(podOf(undefined, ['a'], ['i']), 'x', 'container x is not valid for pod p out of: a, i (init)')
  refuse(podOf('x', ['a']), undefined, 'container x is not valid for pod p out of: a')
  refuse(podOf(undefined, []), undefined, 'pod n/p does not have any containers')
})
