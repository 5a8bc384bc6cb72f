import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseFieldPath, YamlOutline } from './yaml-places.ts'

/** The cursor is at `|`. */
function check(text: string, expected: string): void {
  const lines = text.split('\n')
  const line = lines.findIndex(each => each.includes('^'))
  const column = lines[line]?.indexOf('^') ?? 0
  const outline = new YamlOutline(text.replace('^', ''))
  const { parent, key } = outline.at(line, column)
  assert.equal(`${parent.join('.')}${key === undefined ? '' : ` ${key}:`}`, expected, text)
}

const pod = `apiVersion: v1
metadata:
  name: a
  labels: {app: a}
spec:
  containers:
  - name: web
    image: nginx
    args:
    - |
      script: not a key
    - -v
    env:
      - name: A
        value: b
      - name: B
  - name: log
    resources:
      limits:
        cpu: 1
  # a comment: here
  "quoted key": 1
status: {}
`

test('YamlOutline finds keys and list items, indented or not, without block scalars and comments', () => {
  const paths = new YamlOutline(pod).places.map(({ line, path }) => `${line} ${path.join('.')}`)
  assert.deepEqual(paths, [
    '0 apiVersion',
    '1 metadata',
    '2 metadata.name',
    '3 metadata.labels',
    '4 spec',
    '5 spec.containers',
    '6 spec.containers.0.name',
    '7 spec.containers.0.image',
    '8 spec.containers.0.args',
    '12 spec.containers.0.env',
    '13 spec.containers.0.env.0.name',
    '14 spec.containers.0.env.0.value',
    '15 spec.containers.0.env.1.name',
    '16 spec.containers.1.name',
    '17 spec.containers.1.resources',
    '18 spec.containers.1.resources.limits',
    '19 spec.containers.1.resources.limits.cpu',
    '21 spec.quoted key',
    '22 status',
  ])
})

test('YamlOutline knows the map of a new key, and the key of a value', () => {
  check('^', '')
  check('ap^', '')
  check('kind: Po^', ' kind:')
  check('spec:\n  ^', 'spec')
  check('spec:\n^', '')
  check('spec:\n  containers:\n  - ^', 'spec.containers.0')
  check('spec:\n  containers:\n  - name: a\n    im^', 'spec.containers.0')
  check('spec:\n  containers:\n  - name: a\n  - imagePullPolicy: ^', 'spec.containers.1 imagePullPolicy:')
  check('spec:\n  containers:\n  - name: a\n  ^', 'spec')
  check('a:\n  b: 1\n\n  ^\n  c: 2', 'a')
})

test('YamlOutline finds the line of a field, or of the closest field around it', () => {
  const outline = new YamlOutline(pod)
  assert.equal(outline.lineOf(parseFieldPath('spec.containers[0].image')), 7)
  assert.equal(outline.lineOf(parseFieldPath('spec.containers[1].image')), 5)
  assert.equal(outline.lineOf(parseFieldPath('metadata.labels[app]')), 3)
  assert.equal(outline.lineOf(parseFieldPath('nothing')), undefined)
  assert.deepEqual([...outline.keysIn(['spec', 'containers', 0])], ['name', 'image', 'args', 'env'])
})
