import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { readCorefile } from './corefile.ts'
import { defaultDnsConfiguration, type DnsConfiguration, type ServerBlock } from './dns-configuration.ts'

function read(text: string): DnsConfiguration {
  const result = readCorefile(text)
  assert.ok('configuration' in result, JSON.stringify(result))
  return result.configuration
}

/** The server block of the zone `.` with these lines. */
function readBlock(...lines: readonly string[]): ServerBlock {
  return read(`. {\n${lines.join('\n')}\n}`).servers[0]!
}

/** As `LINE REASON`. */
function problemOf(text: string): string {
  const result = readCorefile(text)
  return 'problem' in result ? `${result.problem.line} ${result.problem.reason}` : 'none'
}

const ofKubeadm = `.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    cache 30 {
       disable success cluster.local
       disable denial cluster.local
    }
    loop
    reload
    loadbalance
}
`

test("the Corefile of kubeadm is the default but for the TTL, the cache's limits and stale answers", () => {
  const [block] = read(ofKubeadm).servers
  const [known] = defaultDnsConfiguration('cluster.local').servers
  assert.deepEqual(block, {
    ...known,
    kubernetes: { ...known!.kubernetes!, ttlSeconds: 30 },
    forwards: [{ ...known!.forwards[0]!, concurrentMax: 1_000 }],
    cache: {
      ...known!.cache!,
      uncachedSuccess: ['cluster.local'],
      uncachedDenial: ['cluster.local'],
      staleSecondsMax: 0,
    },
    plugins: block!.plugins,
  })
})

test('zones of server blocks', () => {
  const zones = (text: string): readonly string[] => read(text).servers.map(({ zone }) => zone)
  assert.deepEqual(zones('. {\n}\nAcme.Local:53 {\n}'), ['', 'acme.local'])
  assert.deepEqual(zones('a.test, b.test:53 dns://c.test. {\n}'), ['a.test', 'b.test', 'c.test'])
  assert.deepEqual(zones('10.0.0.0/8 192.0.2.0/24 {\n}'), ['10.in-addr.arpa', '2.0.192.in-addr.arpa'])
  assert.deepEqual(zones('2001:db8::/32 {\n}'), ['8.b.d.0.1.0.0.2.ip6.arpa'])
  assert.deepEqual(zones('# a comment\n"quoted.test" { # more\n}\n'), ['quoted.test'])
})

test('options of forward', () => {
  const forward = (...lines: readonly string[]): unknown => {
    const [{ to, ...rest } = { to: [] }] = readBlock(...lines).forwards
    return { ...rest, to: to.map(each => (typeof each === 'string' ? each : `${each.host} ${each.port}`)) }
  }
  const plain = { from: '', except: [], transport: 'client', policy: 'last' }
  assert.deepEqual(forward('forward . 192.0.2.1'), { ...plain, to: ['192.0.2.1 53'] })
  assert.deepEqual(forward('forward acme.test 192.0.2.1:5353 [2001:db8::1]:54 2001:db8::2 dns://192.0.2.2'), {
    ...plain,
    from: 'acme.test',
    to: ['192.0.2.1 5353', '2001:db8::1 54', '2001:db8::2 53', '192.0.2.2 53'],
  })
  const options = [
    'except a.test b.test',
    'force_tcp',
    'policy round_robin',
    'max_fails 3',
    'max_concurrent 9',
  ]
  assert.deepEqual(forward('forward . /etc/resolv.conf {', ...options, '}'), {
    from: '',
    except: ['a.test', 'b.test'],
    transport: 'tcp',
    policy: 'round_robin',
    concurrentMax: 9,
    to: ['resolv.conf'],
  })
  assert.deepEqual(readBlock('forward a.test 192.0.2.1', 'forward b.test 192.0.2.2').forwards.length, 2)
})

test('options of cache, hosts, rewrite, log and kubernetes', () => {
  const cache = { zones: [''], uncachedSuccess: [], uncachedDenial: [] }
  const limits = (success: number, denial: number, stale = 0): unknown => {
    return { ...cache, successSecondsMax: success, denialSecondsMax: denial, staleSecondsMax: stale }
  }
  assert.deepEqual(readBlock('cache').cache, limits(3_600, 1_800))
  assert.deepEqual(readBlock('cache 10 a.test').cache, { ...(limits(10, 10) as object), zones: ['a.test'] })
  assert.deepEqual(
    readBlock('cache {', 'success 100 60', 'denial 100 5', 'serve_stale 10m', 'prefetch 2', '}').cache,
    limits(60, 5, 600),
  )
  assert.deepEqual(
    readBlock('hosts {', '192.0.2.1 A.test b.test.', '192.0.2.2 a.test', 'fallthrough', '}').hosts,
    {
      zones: [''],
      addresses: new Map([
        ['a.test', ['192.0.2.1', '192.0.2.2']],
        ['b.test', ['192.0.2.1']],
      ]),
      names: new Map([
        ['192.0.2.1', ['a.test', 'b.test']],
        ['192.0.2.2', ['a.test']],
      ]),
      ttlSeconds: 3_600,
      fallthrough: [''],
    },
  )
  const rules = ['rewrite name a.test b.test', 'rewrite stop name suffix .x.test .y.test answer auto']
  assert.deepEqual(readBlock(...rules).rewrites, [
    { match: 'exact', from: 'a.test', to: 'b.test' },
    { match: 'suffix', from: 'x.test', to: 'y.test' },
  ])
  assert.deepEqual(readBlock('log').log, { zones: [''], classes: ['all'] })
  assert.deepEqual(readBlock('log a.test {', 'class denial error', '}').log, {
    zones: ['a.test'],
    classes: ['denial', 'error'],
  })
  assert.deepEqual(readBlock('kubernetes a.test 10.0.0.0/8').kubernetes, {
    domains: ['a.test'],
    reverseZones: ['10.in-addr.arpa'],
    pods: 'disabled',
    ttlSeconds: 5,
    fallthrough: [],
  })
})

test('an invalid Corefile is refused with the line and the reason', () => {
  const inBlock = (...lines: readonly string[]): string => `. {\n${lines.join('\n')}\n}`
  const cases: readonly (readonly [text: string, problem: string])[] = [
    ['', '1 there is no server block'],
    ['.', '1 expected { after "."'],
    ['. {', '1 the block has no }'],
    ['. {\n}\n}', '3 unexpected }'],
    ['. {\n} x', '2 expected a new line after }'],
    ['{\n}', '1 unexpected {'],
    ['. {\n}\n.:53 {\n}', '3 zone . has two server blocks'],
    ['.:5353 {\n}', '1 port 5353 is not supported: the server listens at port 53'],
    ['tls://. {\n}', '1 tls:// is not supported: only DNS over UDP and TCP'],
    ['a..b {\n}', '1 server block: "a..b" is not a zone'],
    ['10.0.0.0/9 {\n}', /1 server block: the prefix length of 10.0.0.0\/9 is no multiple of 8/.source],
    ['(snippet) {\n}', '1 snippets are not supported'],
    [inBlock('errors', 'template IN A'), '3 plugin "template" is not supported'],
    [inBlock('import custom/*.override'), '2 plugin "import" is not supported'],
    [inBlock('forward . {$UPSTREAM}'), '2 environment variables are not supported: {$UPSTREAM}'],
    [inBlock('cache', 'cache'), '3 cache: is given twice'],
    [inBlock('cache 999999'), '2 cache: "999999" is not a number from 0 to 86400'],
    [inBlock('cache {', 'keepttl', '}'), '3 keepttl: is not a supported option of cache'],
    [inBlock('forward .'), '2 forward: expected a zone and servers'],
    [inBlock('forward . dns.test'), '2 forward: "dns.test" is neither an IP address nor /etc/resolv.conf'],
    [
      inBlock('forward . /etc/passwd'),
      '2 forward: "/etc/passwd" is neither an IP address nor /etc/resolv.conf',
    ],
    [
      inBlock('forward . 192.0.2.1:99999'),
      '2 forward: "192.0.2.1:99999" is neither an IP address nor /etc/resolv.conf',
    ],
    [inBlock('forward . tls://192.0.2.1'), '2 forward: tls:// is not supported: only DNS over UDP and TCP'],
    [inBlock(`forward . ${'192.0.2.1 '.repeat(16)}`), '2 forward: has more than 15 servers'],
    [inBlock('forward . 192.0.2.1 {', 'tls', '}'), '3 tls: is not a supported option of forward'],
    [inBlock('kubernetes'), '2 kubernetes: expected the domain of the cluster'],
    [inBlock('kubernetes c.test {', 'pods all', '}'), '3 pods: "all" is not disabled, insecure or verified'],
    [inBlock('kubernetes c.test {', 'ttl 4000', '}'), '3 ttl: "4000" is not a number from 0 to 3600'],
    [
      inBlock('kubernetes c.test {', 'endpoint http://a', '}'),
      '3 endpoint: is not a supported option of kubernetes',
    ],
    [
      inBlock('hosts /etc/hosts'),
      '2 hosts: files are not supported: write the entries of /etc/hosts in the block',
    ],
    [inBlock('hosts {', '192.0.2.1', '}'), '3 192.0.2.1: expected names'],
    [
      inBlock('rewrite type ANY HINFO'),
      '2 rewrite: only names can be rewritten: rewrite name [exact|suffix] FROM TO',
    ],
    [inBlock('rewrite name regex (.*) b.test'), '2 rewrite: regex is not supported: use exact or suffix'],
    [inBlock('log "x'), '2 a quotation mark is not closed'],
    [inBlock('log {', 'class odd', '}'), '3 class: "odd" is not all, success, denial, error'],
    [inBlock('health {', 'a {', 'b', '}', '}'), '3 unexpected {: blocks are too deep'],
  ]
  for (const [text, problem] of cases) {
    if (problem.includes('\\')) assert.match(problemOf(text), new RegExp(problem))
    else assert.equal(problemOf(text), problem, text)
  }
})

test('any text is read or refused', () => {
  const words = [
    '.',
    '{',
    '}',
    '\n',
    ' ',
    '"',
    '#',
    'forward',
    'hosts',
    '192.0.2.1',
    'kubernetes',
    '10.0.0.0/8',
    '\\',
  ]
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constantFrom(...words), fc.string())), parts => {
      const result = readCorefile(parts.join(' '))
      assert.ok('problem' in result || result.configuration.servers.length > 0)
    }),
  )
})
