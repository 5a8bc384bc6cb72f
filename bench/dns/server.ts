/** A DNS server of k8ts with its API server in one process, for the benchmark: `server.ts UPSTREAM_PORT`. */
import { services } from '#/api/generated/core/v1-resources.ts'
import { ClusterDns } from '#/dns/dns.ts'
import { startTestApiServer } from '../../tests/node/test-api-server.ts'
import { benchService, serviceCount } from './names.ts'

const host = '127.0.0.1'
const { signal } = new AbortController()
const api = await startTestApiServer({ after: () => undefined })
for (let index = 0; index < serviceCount; index++) await api.client.create(services, benchService(index))
const dns = new ClusterDns({
  platform: api.platform,
  client: api.client,
  domain: 'cluster.local',
  listen: [{ host, port: 0 }],
  nameServers: ['10.96.0.10'],
  upstream: { servers: [{ host, port: Number(process.argv[2]) }] },
})
const running = dns.run(signal)
await dns.waitForSync(signal)
const [address] = await dns.boundAddresses
process.stdout.write(`${address!.port}\n`)
await running
