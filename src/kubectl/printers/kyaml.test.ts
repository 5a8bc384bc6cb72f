import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonValue } from '#/api/text/json-value.ts'
import { stringifyKyaml } from './kyaml.ts'

/** Recorded from kubectl, as all results below. */
test('KYAML of maps and lists', () => {
  const object: JsonValue = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'x', labels: { 'app.kubernetes.io/name': 'web', 'on': 'yes' }, annotations: {} },
    data: { script: '#!/bin/sh\n  echo "hi"\n\ttab\n\nend', ending: 'a\nb\n' },
    list: [1, 'two', { three: 3 }, [4]],
    maps: [{ a: 1 }, { b: [{ c: null }] }],
    empty: [],
    nested: [[1, 2], []],
    flag: true,
    number: 1.5,
    big: 1e21,
  }
  const document = [
    '---',
    '{',
    '  apiVersion: "v1",',
    '  big: 1e+21,',
    '  data: {',
    '    ending: "\\',
    '       a\\n\\',
    '       b\\n\\',
    '      ",',
    '    script: "\\',
    '       #!/bin/sh\\n\\',
    '      \\  echo \\"hi\\"\\n\\',
    '      \\\ttab\\n\\',
    '       \\n\\',
    '       end\\',
    '      ",',
    '  },',
    '  empty: [],',
    '  flag: true,',
    '  kind: "ConfigMap",',
    '  list: [',
    '    1,',
    '    "two",',
    '    {',
    '      three: 3,',
    '    },',
    '    [',
    '      4,',
    '    ],',
    '  ],',
    '  maps: [{',
    '    a: 1,',
    '  }, {',
    '    b: [{',
    '      c: null,',
    '    }],',
    '  }],',
    '  metadata: {',
    '    annotations: {},',
    '    labels: {',
    '      app.kubernetes.io/name: "web",',
    '      "on": "yes",',
    '    },',
    '    name: "x",',
    '  },',
    '  nested: [[',
    '    1,',
    '    2,',
    '  ], []],',
    '  number: 1.5,',
    '}',
    '',
  ]
  assert.equal(stringifyKyaml(object), document.join('\n'))
})

const strings: readonly (readonly [value: string, text: string])[] = [
  ['', '""'],
  ['plain', '"plain"'],
  ['"quoted" \\ ', '"\\"quoted\\" \\\\ "'],
  ['tab\there', '"tab\there"'],
  ['é😀', '"é😀"'],
  ['\u0000\u0007\u0008\u000b\u000c\r\u001b', '"\\0\\a\\b\\v\\f\\r\\e"'],
  ['\u00a0\u2028\u2029\u200b\u3000', '"\\_\\L\\P\\u200b\\u3000"'],
  ['a\n b', '"\\\n     a\\n\\\n    \\ b\\\n    "'],
  ['\n', '"\\\n     \\n\\\n    "'],
  ['\n\n', '"\\\n     \\n\\\n     \\n\\\n    "'],
  ['a\n', '"\\\n     a\\n\\\n    "'],
  ['\ttab first\n\u00a0nbsp', '"\\\n    \\\ttab first\\n\\\n    \\\\_nbsp\\\n    "'],
  ['😀\n', '"\\\n     😀\\n\\\n    "'],
  ['true', '"true"'],
  ['1', '"1"'],
]

test('KYAML of strings', () => {
  for (const [value, text] of strings) {
    assert.equal(stringifyKyaml({ s: value }), `---\n{\n  s: ${text},\n}\n`)
  }
})

const keys: readonly (readonly [key: string, text: string])[] = [
  ['a', 'a'],
  ['a-b', 'a-b'],
  ['a.b/c', 'a.b/c'],
  ['_a', '_a'],
  ['-a', '"-a"'],
  ['a-', '"a-"'],
  ['.a', '".a"'],
  ['', '""'],
  ['a b', '"a b"'],
  ['a:b', '"a:b"'],
  ['true', '"true"'],
  ['Yes', '"Yes"'],
  ['no', '"no"'],
  ['on', '"on"'],
  ['null', '"null"'],
  ['y', '"y"'],
  ['N', '"N"'],
  ['t', '"t"'],
  ['F', '"F"'],
  ['1', '"1"'],
  ['01', '"01"'],
  ['1.5', '"1.5"'],
  ['1e3', '"1e3"'],
  ['1_000', '"1_000"'],
  ['0x1f', '"0x1f"'],
  ['0b1', '"0b1"'],
  ['0o7', '"0o7"'],
  ['0x1p3', '"0x1p3"'],
  ['inf', '"inf"'],
  ['NaN', '"NaN"'],
  ['Infinity', '"Infinity"'],
  ['1e400', '1e400'],
  ['99999999999999999999', '"99999999999999999999"'],
  ['0xfffffffffffffffffffff', '0xfffffffffffffffffffff'],
  ['2024-01-02', '"2024-01-02"'],
  ['2024-02-30', '2024-02-30'],
  ['2024-1', '2024-1'],
  ['é', 'é'],
  ['½', '½'],
  ['a\tb', '"a\\tb"'],
  ['a\nb', '"a\\nb"'],
  ['"', '"\\""'],
  ['tru', 'tru'],
]

test('KYAML quotes only ambiguous keys', () => {
  for (const [key, text] of keys)
    assert.equal(stringifyKyaml({ m: { [key]: 1 } }), `---\n{\n  m: {\n    ${text}: 1,\n  },\n}\n`)
})
