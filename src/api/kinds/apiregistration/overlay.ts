import { merged, type Overlay } from '../overlay.ts'

export const apiregistration: Overlay = {
  merging: { 'APIServiceStatus.conditions': merged('type') },
  resources: { apiservices: { categories: ['api-extensions'] } },
}
