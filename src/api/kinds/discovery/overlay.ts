import { set, type Overlay } from '../overlay.ts'

export const discovery: Overlay = {
  atomic: ['EndpointPort'],
  merging: { 'Endpoint.addresses': set },
}
